import type { Container, Pod, Volume } from '../types.ts';
import type { FieldFault } from './field-fault.ts';

type Fields = Record<string, unknown>;

/**
 * Where a pod refers to objects of the API, in the order in which Kubernetes looks: a static pod may not, since it has
 * to run without an API server and nobody checks its right to read them.
 */
export function apiReferences(pod: Pod): FieldFault[] {
  const { spec } = pod;
  const found: FieldFault[] = [];
  if (spec.serviceAccountName) found.push(refused('spec.serviceAccountName', 'serviceaccounts'));
  found.push(...secretReferences(pod), ...configMapReferences(pod));
  if (spec.resourceClaims?.length) found.push(refused('spec.resourceClaims', 'resourceclaims'));
  spec.volumes?.forEach((volume, i) => {
    found.push(...volumeReferences(volume, `spec.volumes[${i}]`));
  });
  return found;
}

function refused(field: string, what: string): FieldFault {
  return {
    field,
    problem: `static pods may not reference ${what}`,
    remedy: 'create the pod through the API server, or put the data into a file or the manifest',
  };
}

function* containers(pod: Pod): Generator<[Container, string]> {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [i, container] of (pod.spec[list] ?? []).entries()) yield [container, `spec.${list}[${i}]`];
  }
}

function* envReferences(pod: Pod, ref: 'secret' | 'configMap'): Generator<string> {
  for (const [container, path] of containers(pod)) {
    for (const [i, from] of (container.envFrom ?? []).entries()) {
      if (from[`${ref}Ref`]?.name) yield `${path}.envFrom[${i}].${ref}Ref`;
    }
    for (const [i, env] of (container.env ?? []).entries()) {
      if (env.valueFrom?.[`${ref}KeyRef`]?.name) yield `${path}.env[${i}].valueFrom.${ref}KeyRef`;
    }
  }
}

/** Volume sources that name a secret, and the key of its name. */
const SECRET_REFS = ['cephfs', 'cinder', 'flexVolume', 'rbd', 'scaleIO', 'iscsi', 'storageos'];

function secretReferences(pod: Pod): FieldFault[] {
  const paths: string[] = [];
  pod.spec.imagePullSecrets?.forEach((secret, i) => {
    if (secret.name) paths.push(`spec.imagePullSecrets[${i}]`);
  });
  paths.push(...envReferences(pod, 'secret'));
  pod.spec.volumes?.forEach((volume, i) => {
    for (const key of secretKeys(volume)) paths.push(`spec.volumes[${i}].${key}`);
  });
  return paths.map((path) => refused(path, 'secrets'));
}

function* secretKeys(volume: Volume): Generator<string> {
  const named = (value: unknown, key: string) => Boolean((value as Fields | undefined)?.[key]);
  if (named(volume['azureFile'], 'secretName')) yield 'azureFile';
  if (named(volume.secret, 'secretName')) yield 'secret';
  for (const key of SECRET_REFS) if (named((volume[key] as Fields | undefined)?.['secretRef'], 'name')) yield `${key}.secretRef`;
  if (named((volume['csi'] as Fields | undefined)?.['nodePublishSecretRef'], 'name')) yield 'csi.nodePublishSecretRef';
  for (const [i, source] of sourcesOf(volume).entries()) if (named(source['secret'], 'name')) yield `projected.sources[${i}].secret`;
}

function configMapReferences(pod: Pod): FieldFault[] {
  const paths = [...envReferences(pod, 'configMap')];
  pod.spec.volumes?.forEach((volume, i) => {
    if (volume.configMap?.['name']) paths.push(`spec.volumes[${i}].configMap`);
    for (const [j, source] of sourcesOf(volume).entries()) {
      if ((source['configMap'] as Fields | undefined)?.['name']) paths.push(`spec.volumes[${i}].projected.sources[${j}].configMap`);
    }
  });
  return paths.map((path) => refused(path, 'configmaps'));
}

function sourcesOf(volume: Volume): Fields[] {
  const sources = volume.projected?.['sources'];
  return Array.isArray(sources) ? (sources as Fields[]) : [];
}

const VOLUME_REFS: Readonly<Record<string, string>> = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
};

const PROJECTED_REFS: Readonly<Record<string, string>> = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
};

function volumeReferences(volume: Volume, path: string): FieldFault[] {
  const found: FieldFault[] = [];
  for (const [key, what] of Object.entries(VOLUME_REFS)) if (volume[key] !== undefined) found.push(refused(`${path}.${key}`, what));
  for (const [i, source] of sourcesOf(volume).entries()) {
    for (const [key, what] of Object.entries(PROJECTED_REFS)) {
      if (source[key] !== undefined) found.push(refused(`${path}.projected.sources[${i}].${key}`, what));
    }
    if (source['downwardAPI'] === undefined && Object.keys(source).length === 0) {
      found.push({ field: `${path}.projected.sources[${i}]`, problem: 'is no known source' });
    }
  }
  return found;
}
