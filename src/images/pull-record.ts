import type { Credential } from './credential-index.ts';
import { credentialHash } from './credential-index.ts';

/** A secret by whose credentials an image was pulled. Fields as in the file. */
export interface PullSecret {
  uid: string;
  namespace: string;
  name: string;
  credentialHash: string;
}

export interface PullServiceAccount {
  uid: string;
  namespace: string;
  name: string;
}

/** Who may use an image under one name. */
export interface PullCredentials {
  kubernetesSecrets?: readonly PullSecret[];
  kubernetesServiceAccounts?: readonly PullServiceAccount[];
  /** It was pulled anonymously or with the node's own credentials: every pod may. */
  nodePodsAccessible?: boolean;
}

/** ImagePulledRecord of kubelet.config.k8s.io/v1beta1: an image that this node pulled. */
export interface PulledRecord {
  /** RFC 3339, whole seconds. */
  lastUpdatedTime: string;
  imageRef: string;
  /** By the image's name without tag and digest, as pods spell it. */
  credentialMapping: ReadonlyMap<string, PullCredentials>;
}

/** The name without tag and digest, otherwise as it is written. */
export function bareName(image: string): string {
  const [named = ''] = image.split('@', 1);
  const colon = named.lastIndexOf(':');
  return colon > named.lastIndexOf('/') ? named.slice(0, colon) : named;
}

/** What a successful pull proves. */
export function provenBy(credential: Credential | undefined): PullCredentials {
  const source = credential?.source;
  if (credential === undefined || source === undefined) return { nodePodsAccessible: true };
  const { kind, uid, namespace, name } = source;
  if (kind === 'serviceAccount') return { kubernetesServiceAccounts: [{ uid, namespace, name }] };
  return { kubernetesSecrets: [{ uid, namespace, name, credentialHash: credentialHash(credential) }] };
}

/** The record after one more proof under `name`; the same object when it says nothing new. */
export function withProof(record: PulledRecord, name: string, proof: PullCredentials, time: string): PulledRecord {
  const merged = mergeCredentials(record.credentialMapping.get(name), proof);
  if (merged === undefined) return record;
  return { ...record, lastUpdatedTime: time, credentialMapping: new Map([...record.credentialMapping, [name, merged]]) };
}

/** Undefined when `more` adds nothing. */
function mergeCredentials(known: PullCredentials | undefined, more: PullCredentials): PullCredentials | undefined {
  if (known?.nodePodsAccessible === true) return undefined;
  if (more.nodePodsAccessible === true) return { nodePodsAccessible: true };
  const secrets = [...(known?.kubernetesSecrets ?? [])];
  const accounts = [...(known?.kubernetesServiceAccounts ?? [])];
  let changed = false;
  for (const secret of more.kubernetesSecrets ?? []) {
    const at = secrets.findIndex((s) => isSame(s, secret));
    if (at >= 0 && secrets[at]?.credentialHash === secret.credentialHash) continue;
    secrets.splice(at < 0 ? secrets.length : at, at < 0 ? 0 : 1, secret);
    changed = true;
  }
  for (const account of more.kubernetesServiceAccounts ?? []) {
    if (accounts.some((a) => isSame(a, account))) continue;
    accounts.push(account);
    changed = true;
  }
  if (!changed) return undefined;
  return {
    ...(secrets.length === 0 ? {} : { kubernetesSecrets: secrets.sort(byCoordinates) }),
    ...(accounts.length === 0 ? {} : { kubernetesServiceAccounts: accounts.sort(byCoordinates) }),
  };
}

export function isSame(a: PullServiceAccount, b: PullServiceAccount): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

function byCoordinates(a: PullServiceAccount, b: PullServiceAccount): number {
  const [x, y] = [a, b].map(({ namespace, name, uid }) => JSON.stringify([namespace, name, uid]));
  return x === y ? 0 : (x ?? '') < (y ?? '') ? -1 : 1;
}
