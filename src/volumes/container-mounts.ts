import { posix } from 'node:path';
import type { Container, Pod, VolumeMount } from '../api/types.ts';
import type { ImageSpec, Mount, MountPropagation } from '../cri/types.ts';
import type { SlowFiles } from '../host/file-threads/file-threads.ts';
import type { Logger } from '../observe/log.ts';
import { subPathTarget, volumeDir } from './paths.ts';
import type { VolumePlugin } from './plugin.ts';
import { isImageVolume } from './plugins/image.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import { bindSubPath, type SubPathDeps } from './sub-paths.ts';
import { VolumeError } from './volume-error.ts';

export interface ContainerMountsDeps extends SubPathDeps {
  /** For a look at what may hang. */
  slowFiles: SlowFiles;
  /** A volume of the pod with its plug-in. */
  find(pod: Pod, volume: string): Promise<{ plugin: VolumePlugin; resolved: ResolvedVolume }>;
  podsDir: string;
  log: Logger;
  /** The container's environment put into a subPathExpr. Throws when a name is missing. */
  expandSubPath(expression: string, env: readonly EnvValue[]): string;
  /** The pod's runtime handler can mount recursively read-only. */
  recursiveReadOnly(pod: Pod): boolean | Promise<boolean>;
  /** SELinux is at work on this node. */
  selinux: boolean;
}

export interface EnvValue {
  name: string;
  value: string;
}

/** Longest that a file system may take to answer, milliseconds. */
const AnswerMs = 10_000;

const noImages: ReadonlyMap<string, ImageSpec> = new Map();

const Propagations: ReadonlyMap<string, MountPropagation> = new Map([
  ['None', 'PRIVATE'],
  ['HostToContainer', 'HOST_TO_CONTAINER'],
  ['Bidirectional', 'BIDIRECTIONAL'],
]);

/** What the runtime is told about a container's volumes, with sub paths bound. Rejects with an error for the container's status. */
export async function containerMounts(
  deps: ContainerMountsDeps,
  pod: Pod,
  container: Container,
  env: readonly EnvValue[],
  images: ReadonlyMap<string, ImageSpec> = noImages,
): Promise<Mount[]> {
  const mounts = container.volumeMounts ?? [];
  // Every one must be over before a failure is told: the next try uses the same targets.
  const made = await Promise.allSettled(mounts.map((mount, index) => containerMount(deps, { pod, container, mount, index, env, images })));
  return made.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

interface MountInput {
  pod: Pod;
  container: Container;
  mount: VolumeMount;
  index: number;
  env: readonly EnvValue[];
  images: ReadonlyMap<string, ImageSpec>;
}

async function containerMount(deps: ContainerMountsDeps, input: MountInput): Promise<Mount> {
  const { pod, container, mount } = input;
  const volume = pod.spec.volumes?.find((v) => v.name === mount.name);
  if (volume === undefined) {
    throw new VolumeError(
      'invalid',
      `cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(container.name)}`,
    );
  }
  const { plugin, resolved } = await deps.find(pod, volume.name);
  const propagation = Propagations.get(mount.mountPropagation ?? 'None');
  if (propagation === undefined)
    throw new VolumeError('invalid', `invalid MountPropagation mode: ${JSON.stringify(mount.mountPropagation)}`);
  if (propagation === 'BIDIRECTIONAL' && container.securityContext?.privileged !== true) {
    throw new VolumeError(
      'invalid',
      `volume ${JSON.stringify(mount.name)}: mountPropagation Bidirectional is for privileged containers only`,
    );
  }
  const recursiveReadOnly = isRecursivelyReadOnly(mount, await deps.recursiveReadOnly(pod));
  const subPath = subPathOf(deps, input);
  const source = isImageVolume(resolved.source) ? imageSource(input, subPath) : await hostSource(deps, input, plugin, resolved, subPath);
  const { mountPath } = mount;
  return {
    containerPath: mountPath.startsWith('/') ? mountPath : posix.join('/', mountPath),
    ...source,
    readonly: mount.readOnly === true || plugin.readOnly || resolved.readOnly,
    selinuxRelabel: deps.selinux && plugin.relabel,
    propagation,
    ...(recursiveReadOnly ? { recursiveReadOnly } : {}),
  };
}

/** The runtime finds the files, and the sub path in them. */
function imageSource({ mount, images }: MountInput, subPath: string): Pick<Mount, 'hostPath' | 'image' | 'imageSubPath'> {
  const image = images.get(mount.name);
  if (image === undefined) throw new VolumeError('invalid', `the image of volume ${JSON.stringify(mount.name)} is not known`);
  return { hostPath: '', image, ...(subPath === '' ? {} : { imageSubPath: subPath }) };
}

async function hostSource(
  deps: ContainerMountsDeps,
  input: MountInput,
  plugin: VolumePlugin,
  { source }: ResolvedVolume,
  subPath: string,
): Promise<Pick<Mount, 'hostPath'>> {
  const root = plugin.hostPath(source, volumeDir(deps.podsDir, input.pod.metadata.uid, plugin.name, source.name));
  return { hostPath: subPath === '' ? root : await boundSubPath(deps, input, plugin, root, subPath) };
}

/** The sub path with its variables put in; '' for the whole volume. */
function subPathOf(deps: ContainerMountsDeps, { mount, env }: MountInput): string {
  const { subPathExpr, subPath = '' } = mount;
  const path = subPathExpr ? deps.expandSubPath(subPathExpr, env) : subPath;
  if (path.startsWith('/')) throw new VolumeError('invalid', `error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..')) throw new VolumeError('invalid', `unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

/** The cause goes to the log only: it could tell the pod's author about files of the host. */
async function boundSubPath(
  deps: ContainerMountsDeps,
  input: MountInput,
  plugin: VolumePlugin,
  root: string,
  subPath: string,
): Promise<string> {
  const { pod, container, mount, index } = input;
  const target = subPathTarget(deps.podsDir, pod.metadata.uid, mount.name, container.name, index);
  try {
    if (plugin.isHostPath || (await hasOwnFileSystem(deps, root))) await deps.slowFiles.run('kind', [posix.join(root, subPath)], AnswerMs);
    await bindSubPath(deps, { root, followRoot: plugin.isHostPath, subPath, target });
    return target;
  } catch (err) {
    const { namespace, name } = pod.metadata;
    deps.log.error(err, 'Failed to prepare subPath for volumeMount of the container', {
      pod: `${namespace}/${name}`,
      containerName: container.name,
      volumeMountName: mount.name,
    });
    const text = `failed to prepare subPath for volumeMount ${JSON.stringify(mount.name)} of container ${JSON.stringify(container.name)}`;
    throw new VolumeError('host', text, err);
  }
}

/**
 * The walk of a sub path uses the few threads that all file calls share: where a server may be dead it is asked first, in a
 * thread that can be left behind.
 */
async function hasOwnFileSystem({ mounts }: ContainerMountsDeps, root: string): Promise<boolean> {
  return (await mounts.below(root)).some(({ fsType }) => fsType !== 'tmpfs' && fsType !== 'hugetlbfs');
}

/** Throws VolumeError where the mount asks for what it cannot have. Source: KEP-3857. */
function isRecursivelyReadOnly(mount: VolumeMount, isSupported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const asked = `failed to resolve recursive read-only mode: volume ${JSON.stringify(mount.name)} requested recursive read-only mode, but`;
  if (mount.readOnly !== true) throw new VolumeError('invalid', `${asked} it is not read-only`);
  const { mountPropagation = 'None' } = mount;
  if (mountPropagation !== 'None')
    throw new VolumeError('invalid', `${asked} it is not compatible with propagation ${JSON.stringify(mountPropagation)}`);
  if (mode === 'IfPossible') return isSupported;
  if (mode !== 'Enabled') throw new VolumeError('invalid', `unknown recursive read-only mode ${JSON.stringify(mode)}`);
  if (!isSupported) throw new VolumeError('unsupported', `${asked} it is not supported by the runtime`);
  return true;
}
