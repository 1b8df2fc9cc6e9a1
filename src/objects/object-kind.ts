import type { Pod, StringMap } from '../api/types.ts';
import type { CallOptions, KubeApi, KubeObject } from '../kube/api.ts';
import type { ListTarget } from '../kube/reflector.ts';
import { configMapTarget, getConfigMap, getSecret, secretTarget } from '../kube/typed.ts';
import type { ConfigMap, Secret } from '../kube/types.ts';
import { configMapNames, secretNames } from './references.ts';

/** A ConfigMap as pods read it. */
export interface ConfigMapValue {
  data: ReadonlyMap<string, string>;
  binaryData: ReadonlyMap<string, Uint8Array>;
  immutable: boolean;
  resourceVersion: string;
}

/** A Secret as pods read it, its values decoded. */
export interface SecretValue {
  data: ReadonlyMap<string, Uint8Array>;
  type: string;
  uid: string;
  immutable: boolean;
  resourceVersion: string;
}

/** What differs between the kinds of objects that pods refer to by name. `T` is the API's form, `V` what is read of it. */
export interface ObjectKind<T extends KubeObject & { immutable?: boolean }, V> {
  /** In lower case, as messages name it. */
  name: string;
  /** The one object of that name. */
  target(namespace: string, name: string): ListTarget;
  /** `cached`: whatever the server has at hand, which may be a little old. */
  get(api: KubeApi, namespace: string, name: string, options: CallOptions & { cached?: boolean }): Promise<T>;
  decode(object: T): V;
  /** Names that a pod refers to, in its namespace. */
  references(pod: Pod): Set<string>;
}

export const configMapKind: ObjectKind<ConfigMap, ConfigMapValue> = {
  name: 'configmap',
  target: configMapTarget,
  get: getConfigMap,
  decode: ({ data, binaryData, immutable, metadata }) => ({
    data: new Map(Object.entries(data ?? {})),
    binaryData: decoded(binaryData),
    immutable: immutable === true,
    resourceVersion: metadata.resourceVersion ?? '',
  }),
  references: configMapNames,
};

export const secretKind: ObjectKind<Secret, SecretValue> = {
  name: 'secret',
  target: secretTarget,
  get: getSecret,
  decode: ({ data, type = '', immutable, metadata }) => ({
    data: decoded(data),
    type,
    uid: metadata.uid ?? '',
    immutable: immutable === true,
    resourceVersion: metadata.resourceVersion ?? '',
  }),
  references: secretNames,
};

function decoded(values: StringMap | undefined): Map<string, Uint8Array> {
  return new Map(Object.entries(values ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}
