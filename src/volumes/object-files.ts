import type { Pod } from '../api/types.ts';
import type { Payload } from './payload.ts';
import type { PodCertificateSource, VolumeFields, VolumeObjects } from './ports.ts';
import { has, isOptional, itemsOf, modeField, type Source, sourceOf, sourcesOf, textField } from './source-fields.ts';
import { VolumeError } from './volume-error.ts';

/** Where the files of configMap, secret, downwardAPI and projected volumes come from. */
export interface FileSources {
  /** Absent on a node without an API server. */
  objects?: VolumeObjects | undefined;
  fields: VolumeFields;
  /** Absent on a node without an API server. */
  podCertificates?: PodCertificateSource | undefined;
}

/** Throws VolumeError when there is no API server to ask. */
export function objectsOf({ objects }: FileSources, what: string): VolumeObjects {
  if (objects === undefined) throw new VolumeError('no-api-server', `couldn't get ${what}: this node runs without an API server`);
  return objects;
}

/** Files of a ConfigMap; `name` is the reference's. Rejects with VolumeError when it or one of its keys is missing and not optional. */
export async function configMapFiles(sources: FileSources, pod: Pod, name: string, source: Source, defaultMode: number): Promise<Payload> {
  const { namespace } = pod.metadata;
  const object = await objectsOf(sources, `configMap ${namespace}/${name}`).configMap(namespace, name);
  if (object === undefined && !isOptional(source)) throw new VolumeError('not-found', `configmap ${JSON.stringify(name)} not found`);
  const data = new Map<string, Uint8Array>();
  for (const [key, text] of object?.data ?? []) data.set(key, Buffer.from(text));
  for (const [key, bytes] of object?.binaryData ?? []) if (!data.has(key)) data.set(key, bytes);
  return keyFiles(data, source, defaultMode, (key) => `configmap references non-existent config key: ${key}`);
}

/** Files of a Secret; see configMapFiles. */
export async function secretFiles(sources: FileSources, pod: Pod, name: string, source: Source, defaultMode: number): Promise<Payload> {
  const { namespace } = pod.metadata;
  const object = await objectsOf(sources, `secret ${namespace}/${name}`).secret(namespace, name);
  if (object === undefined && !isOptional(source)) throw new VolumeError('not-found', `secret ${JSON.stringify(name)} not found`);
  return keyFiles(object?.data ?? new Map(), source, defaultMode, (key) => `references non-existent secret key: ${key}`);
}

/** The items, or without any every key as a file of that name. */
function keyFiles(data: ReadonlyMap<string, Uint8Array>, source: Source, defaultMode: number, missing: (key: string) => string): Payload {
  const items = itemsOf(source);
  if (items.length === 0) return new Map([...data].map(([key, bytes]) => [key, { data: bytes, mode: defaultMode }]));
  const files: Payload = new Map();
  for (const { key, path, mode } of items) {
    const bytes = data.get(key);
    if (bytes !== undefined) files.set(path, { data: bytes, mode: mode ?? defaultMode });
    else if (!isOptional(source)) throw new VolumeError('not-found', missing(key));
  }
  return files;
}

/** Files with fields of the pod. Throws what VolumeFields throws. */
export function downwardFiles({ fields }: FileSources, pod: Pod, source: Source, defaultMode: number): Payload {
  const files: Payload = new Map();
  for (const item of sourcesOf(source['items'])) {
    const value = has(item, 'fieldRef')
      ? fields.metadata(pod, textField(sourceOf(item['fieldRef']), 'fieldPath'))
      : resourceValue(fields, pod, sourceOf(item['resourceFieldRef']));
    files.set(textField(item, 'path'), { data: Buffer.from(value), mode: modeField(item, 'mode') ?? defaultMode });
  }
  return files;
}

function resourceValue(fields: VolumeFields, pod: Pod, ref: Source): string {
  const divisor = ref['divisor'];
  const hasDivisor = typeof divisor === 'string' || typeof divisor === 'number';
  return fields.resource(pod, {
    containerName: textField(ref, 'containerName'),
    resource: textField(ref, 'resource'),
    ...(hasDivisor ? { divisor: String(divisor) } : {}),
  });
}
