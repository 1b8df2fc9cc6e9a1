import type { Pod } from '../api/types.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../kube/types.ts';
import type { Source } from './source-fields.ts';

/** A ConfigMap as its files need it. */
export interface ConfigMapObject {
  data: ReadonlyMap<string, string>;
  binaryData: ReadonlyMap<string, Uint8Array>;
  immutable: boolean;
  resourceVersion: string;
}

/** A Secret, its values decoded. */
export interface SecretObject {
  data: ReadonlyMap<string, Uint8Array>;
  immutable: boolean;
  resourceVersion: string;
}

export interface TokenRequest {
  /** '' is the API server's own. */
  audience: string;
  expirationSeconds: number;
  /** Where the pod sees it: for messages only. */
  path: string;
}

/** Objects of the API server that volumes show. Undefined: there is no such object. Rejects when that cannot be known. */
export interface VolumeObjects {
  configMap(namespace: string, name: string): Promise<ConfigMapObject | undefined>;
  secret(namespace: string, name: string): Promise<SecretObject | undefined>;
  /** PEM certificates of the cluster's trust bundles: of one by its name, or of a signer's whose labels match. */
  trustAnchors(query: { name: string } | { signerName: string; labelSelector: Source | undefined }): Promise<string | undefined>;
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined>;
  persistentVolume(name: string): Promise<PersistentVolume | undefined>;
  /** A token of the pod's service account, bound to the pod; kept and renewed by whoever implements this. */
  token(pod: Pod, request: TokenRequest): Promise<string>;
}

/** What a podCertificate source asks for. */
export interface PodCertificateAsk {
  signerName: string;
  keyType: string;
  maxExpirationSeconds: number | undefined;
  userAnnotations: Readonly<Record<string, string>> | undefined;
}

/** Certificates that signers of the cluster issue to pods. */
export interface PodCertificateSource {
  /** PEM. Rejects while there is none, and for good when the signer has refused. `source`: volume and number of its source. */
  certificate(pod: Pod, source: string, ask: PodCertificateAsk): Promise<{ key: string; chain: string }>;
  /** The pod is over. */
  forgetPod(uid: string): void;
}

/** Fields of a pod as text. Both throw when the field is none that a volume can show. */
export interface VolumeFields {
  metadata(pod: Pod, fieldPath: string): string;
  resource(pod: Pod, ref: { containerName: string; resource: string; divisor?: string }): string;
}
