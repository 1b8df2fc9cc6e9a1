import type { Field } from './field.ts';
import { descendingPath, hasBackstep } from './names.ts';

/** Mounts of one container. `volumes` are the sound volumes of the pod by name. Some faults stand, as in Kubernetes, on the list. */
export function validateMounts(container: Field, volumes: ReadonlyMap<string, Field>): void {
  const mounts = container.get('volumeMounts');
  const devices = container.get('volumeDevices').each();
  const paths = new Set<string>();
  for (const mount of mounts.each()) {
    const name = mount.get('name');
    const path = mount.get('mountPath');
    name.require();
    if (!volumes.has(name.text)) name.report(`there is no volume ${name.shown}`);
    path.require();
    if (paths.has(path.text)) path.report(`${path.shown} is mounted twice`);
    paths.add(path.text);
    if (devices.some((device) => device.get('name').text === name.text)) name.report(`${name.shown} is also a block device`);
    if (devices.some((device) => device.get('devicePath').text === path.text))
      path.report(`${path.shown} is also the path of a block device`);
    validateSubPaths(mounts, mount);
    validatePropagation(mounts, mount, container);
    validateBindOptions(mount.get('bindMountOptions'), volumes.get(name.text));
  }
  validateDevices(container, volumes);
}

function validateSubPaths(mounts: Field, mount: Field): void {
  const subPath = mount.get('subPath');
  const expression = mount.get('subPathExpr');
  if (subPath.text !== '') subPath.at(`${mounts.path}.subPath`).reportAll(descendingPath(subPath.text));
  if (expression.text === '') return;
  if (subPath.text !== '') expression.report('is given beside subPath');
  expression.at(`${mounts.path}.subPathExpr`).reportAll(descendingPath(expression.text));
}

function validatePropagation(mounts: Field, mount: Field, container: Field): void {
  const propagation = mount.get('mountPropagation').at(`${mounts.path}.mountPropagation`);
  if (propagation.isSet) {
    propagation.oneOf(['None', 'HostToContainer', 'Bidirectional']);
    const isPrivileged = container.get('securityContext').get('privileged').isTrue;
    if (propagation.text === 'Bidirectional' && !isPrivileged) propagation.report('Bidirectional is for privileged containers only');
  }
  const recursive = mount.get('recursiveReadOnly').at(`${mounts.path}.recursiveReadOnly`);
  if (!recursive.isSet || recursive.text === 'Disabled') return;
  if (!recursive.oneOf(['Disabled', 'IfPossible', 'Enabled'])) return;
  if (!mount.get('readOnly').isTrue) recursive.report('goes only with readOnly: true');
  if (propagation.isSet && propagation.text !== 'None') recursive.report('goes only with mountPropagation: None');
}

function validateBindOptions(options: Field, volume: Field | undefined): void {
  const seen = new Set<string>();
  for (const option of options.each()) {
    option.oneOf(['nodev', 'noexec', 'nosuid']);
    if (seen.has(option.text)) option.report(`${option.shown} is given twice`);
    seen.add(option.text);
  }
  if (options.count > 0 && volume?.get('image').isSet) options.report('does not go with an image volume');
}

function validateDevices(container: Field, volumes: ReadonlyMap<string, Field>): void {
  const mounts = container.get('volumeMounts').each();
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const device of container.get('volumeDevices').each()) {
    const name = device.get('name');
    const path = device.get('devicePath');
    const volume = volumes.get(name.text);
    name.require();
    if (names.has(name.text)) name.report(`${name.shown} is given twice`);
    if (!volume) name.report(`there is no volume ${name.shown}`);
    else if (!volume.get('persistentVolumeClaim').isSet && !volume.get('ephemeral').isSet) name.report('only claims can be block devices');
    path.require();
    if (paths.has(path.text)) path.report(`${path.shown} is given twice`);
    if (hasBackstep(path.text)) path.report(`${path.shown} contains '..'`);
    else paths.add(path.text);
    if (mounts.some((mount) => mount.get('name').text === name.text)) name.report(`${name.shown} is also mounted`);
    if (mounts.some((mount) => mount.get('mountPath').text === path.text)) path.report(`${path.shown} is also the path of a mount`);
    if (name.text !== '') names.add(name.text);
  }
}
