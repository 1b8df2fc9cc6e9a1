import { durationFromJson } from '../api/duration.ts';
import { ProtocolGroup } from './provider-config.ts';

/** What a plug-in is asked. */
export interface ProviderRequest {
  /** A repository: without tag and digest. */
  image: string;
  /** '' when the plug-in gets none. */
  serviceAccountToken: string;
  serviceAccountAnnotations: ReadonlyMap<string, string>;
}

/** What it answers. */
export interface ProviderResponse {
  cacheKeyType: 'Image' | 'Registry' | 'Global';
  /** Undefined: the configuration's. */
  cacheMs: number | undefined;
  /** By patterns of registries. */
  auth: ReadonlyMap<string, { username: string; password: string }>;
}

/** An answer that cannot be used. Its message holds nothing of it. */
export class ProviderResponseError extends Error {
  override readonly name = 'ProviderResponseError';
}

const CacheKeyTypes = ['Image', 'Registry', 'Global'] as const;

/** CredentialProviderRequest in the provider's version; the token fields exist in v1 only. */
export function requestJson(apiVersion: string, { image, serviceAccountToken, serviceAccountAnnotations }: ProviderRequest): string {
  const annotations = Object.fromEntries(serviceAccountAnnotations);
  return `${JSON.stringify({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image,
    ...(serviceAccountToken === '' ? {} : { serviceAccountToken }),
    ...(serviceAccountAnnotations.size === 0 ? {} : { serviceAccountAnnotations: annotations }),
  })}\n`;
}

/** Reads a CredentialProviderResponse of just this version. Throws ProviderResponseError. */
export function readResponse(text: string, apiVersion: string): ProviderResponse {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProviderResponseError('the answer is no JSON');
  }
  const response = object(value, 'the answer');
  if (response['kind'] !== 'CredentialProviderResponse' || response['apiVersion'] !== apiVersion) {
    const group = String(response['apiVersion']).startsWith(`${ProtocolGroup}/`) ? `, but of ${String(response['apiVersion'])}` : '';
    throw new ProviderResponseError(`the answer is no CredentialProviderResponse of ${apiVersion}${group}`);
  }
  only(response, 'the answer', ['kind', 'apiVersion', 'cacheKeyType', 'cacheDuration', 'auth']);
  const cacheKeyType = CacheKeyTypes.find((type) => type === response['cacheKeyType']);
  if (cacheKeyType === undefined) throw new ProviderResponseError(`its cacheKeyType is none of ${CacheKeyTypes.join(', ')}`);
  const auth = response['auth'] ?? {};
  return {
    cacheKeyType,
    cacheMs: milliseconds(response['cacheDuration']),
    auth: new Map(Object.entries(object(auth, 'auth')).map(([pattern, entry]) => [pattern, login(entry ?? {})])),
  };
}

function login(value: unknown): { username: string; password: string } {
  const entry = object(value, 'an entry of auth');
  only(entry, 'an entry of auth', ['username', 'password']);
  const { username = '', password = '' } = entry as { username?: unknown; password?: unknown };
  if (typeof username === 'string' && typeof password === 'string') return { username, password };
  throw new ProviderResponseError('username and password must be texts');
}

function milliseconds(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    return Number(durationFromJson(value)) / 1e6;
  } catch {
    throw new ProviderResponseError('its cacheDuration is no duration');
  }
}

function only(of: Record<string, unknown>, what: string, names: readonly string[]): void {
  if (Object.keys(of).some((name) => !names.includes(name))) throw new ProviderResponseError(`${what} has a field that is not known`);
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ProviderResponseError(`${what} is no object`);
}
