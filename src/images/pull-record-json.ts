import type { PullCredentials, PulledRecord, PullSecret, PullServiceAccount } from './pull-record.ts';

/*
 * The files of the records, as the Go kubelet writes and reads them: a node may change from one to the other.
 * Kinds and fields: kubelet.config.k8s.io, v1beta1 and v1alpha1, which have the same.
 */

const Written = 'kubelet.config.k8s.io/v1beta1';
const Versions = new Set([Written, 'kubelet.config.k8s.io/v1alpha1']);

/** A file holds something else than it should. */
export class PullRecordError extends Error {
  override readonly name = 'PullRecordError';
}

export function intentJson(image: string): string {
  return `${JSON.stringify({ kind: 'ImagePullIntent', apiVersion: Written, image })}\n`;
}

export function recordJson({ lastUpdatedTime, imageRef, credentialMapping }: PulledRecord): string {
  const names = [...credentialMapping.keys()].sort();
  const mapping = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(credentialMapping.get(name))}`).join(',');
  const head = JSON.stringify({ kind: 'ImagePulledRecord', apiVersion: Written, lastUpdatedTime, imageRef });
  return `${head.slice(0, -1)}${names.length === 0 ? '' : `,"credentialMapping":{${mapping}}`}}\n`;
}

/** The image. Throws PullRecordError. */
export function readIntent(text: string): string {
  return stringOf(document(text, 'ImagePullIntent'), 'image');
}

/** Throws PullRecordError. */
export function readRecord(text: string): PulledRecord {
  const record = document(text, 'ImagePulledRecord');
  const mapping = optional(record, 'credentialMapping', object) ?? {};
  return {
    lastUpdatedTime: stringOf(record, 'lastUpdatedTime'),
    imageRef: stringOf(record, 'imageRef'),
    credentialMapping: new Map(Object.entries(mapping).map(([name, value]) => [name, credentials(object(value, name))])),
  };
}

function document(text: string, kind: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new PullRecordError('it is no JSON');
  }
  const found = object(value, kind);
  if (found['kind'] !== kind || !Versions.has(String(found['apiVersion']))) throw new PullRecordError(`it is no ${kind} of ${Written}`);
  return found;
}

function credentials(of: Record<string, unknown>): PullCredentials {
  const secrets = optional(of, 'kubernetesSecrets', list)?.map(secret);
  const accounts = optional(of, 'kubernetesServiceAccounts', list)?.map(account);
  return {
    ...(secrets === undefined ? {} : { kubernetesSecrets: secrets }),
    ...(accounts === undefined ? {} : { kubernetesServiceAccounts: accounts }),
    ...(of['nodePodsAccessible'] === true ? { nodePodsAccessible: true } : {}),
  };
}

function secret(value: unknown): PullSecret {
  return { ...account(value), credentialHash: stringOf(object(value, 'a secret'), 'credentialHash') };
}

function account(value: unknown): PullServiceAccount {
  const of = object(value, 'a source of credentials');
  return { uid: stringOf(of, 'uid'), namespace: stringOf(of, 'namespace'), name: stringOf(of, 'name') };
}

function optional<T>(of: Record<string, unknown>, name: string, read: (value: unknown, what: string) => T): T | undefined {
  const value = of[name];
  return value === undefined || value === null ? undefined : read(value, name);
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new PullRecordError(`${what} is no object`);
}

function list(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new PullRecordError(`${what} is no list`);
}

function stringOf(of: Record<string, unknown>, name: string): string {
  const value = of[name];
  if (typeof value === 'string') return value;
  throw new PullRecordError(`${name} is no text`);
}
