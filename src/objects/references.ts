import type { Container, Pod, Volume } from '../api/types.ts';

/** The names of ConfigMaps in its namespace that a pod reads: environment and volumes. */
export function configMapNames(pod: Pod): Set<string> {
  const names = new Set<string>();
  for (const container of containersOf(pod)) {
    for (const { configMapRef } of container.envFrom ?? []) add(names, configMapRef?.name);
    for (const { valueFrom } of container.env ?? []) add(names, valueFrom?.configMapKeyRef?.name);
  }
  for (const volume of pod.spec.volumes ?? []) {
    add(names, at(volume, 'configMap', 'name'));
    for (const source of projectedSources(volume)) add(names, at(source, 'configMap', 'name'));
  }
  return names;
}

/** Where kinds of volumes name a secret of the pod's namespace, besides `secret` and `projected`. */
const VolumeSecrets: readonly (readonly string[])[] = [
  ['secret', 'secretName'],
  ['azureFile', 'secretName'],
  ['cephfs', 'secretRef', 'name'],
  ['cinder', 'secretRef', 'name'],
  ['flexVolume', 'secretRef', 'name'],
  ['rbd', 'secretRef', 'name'],
  ['scaleIO', 'secretRef', 'name'],
  ['iscsi', 'secretRef', 'name'],
  ['storageos', 'secretRef', 'name'],
  ['csi', 'nodePublishSecretRef', 'name'],
];

/** The names of Secrets in its namespace that a pod reads: image pulls, environment and volumes. */
export function secretNames(pod: Pod): Set<string> {
  const names = new Set<string>();
  for (const { name } of pod.spec.imagePullSecrets ?? []) add(names, name);
  for (const container of containersOf(pod)) {
    for (const { secretRef } of container.envFrom ?? []) add(names, secretRef?.name);
    for (const { valueFrom } of container.env ?? []) add(names, valueFrom?.secretKeyRef?.name);
  }
  for (const volume of pod.spec.volumes ?? []) {
    for (const path of VolumeSecrets) add(names, at(volume, ...path));
    for (const source of projectedSources(volume)) add(names, at(source, 'secret', 'name'));
  }
  return names;
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}

function projectedSources(volume: Volume): unknown[] {
  const sources = volume.projected?.['sources'];
  return Array.isArray(sources) ? sources : [];
}

function at(value: unknown, ...path: string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

function add(names: Set<string>, name: unknown): void {
  if (typeof name === 'string' && name !== '') names.add(name);
}
