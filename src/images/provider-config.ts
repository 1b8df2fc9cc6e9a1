import { durationFromJson } from '../api/duration.ts';
import { qualifiedNameFaults } from '../api/names.ts';
import { type Located, parseLocated } from '../config/yaml.ts';
import { parseSchemelessUrl } from './registry-url.ts';

/** What a plug-in is told of the pod's service account. */
export interface TokenAttributes {
  audience: string;
  /** What credentials are kept by: all pods of the service account share them, or those with the same token. */
  cacheType: 'ServiceAccount' | 'Token';
  /** Pods without a service account get nothing from this plug-in. */
  requireServiceAccount: boolean;
  /** Without one of these the service account's pods get nothing. */
  requiredAnnotations: readonly string[];
  optionalAnnotations: readonly string[];
}

/** One entry of a CredentialProviderConfig (kubelet.config.k8s.io), checked. */
export interface ProviderConfig {
  /** Also the name of its program. */
  name: string;
  matchImages: readonly string[];
  defaultCacheMs: number;
  /** Of the requests and responses. */
  apiVersion: string;
  args: readonly string[];
  env: readonly { name: string; value: string }[];
  tokenAttributes: TokenAttributes | undefined;
}

/** The configuration cannot be used: one line for each fault. */
export class ProviderConfigError extends Error {
  override readonly name = 'ProviderConfigError';
}

const Kind = 'CredentialProviderConfig';
const Group = 'kubelet.config.k8s.io';
const Versions = ['v1', 'v1beta1', 'v1alpha1'];
export const ProtocolGroup = 'credentialprovider.kubelet.k8s.io';
const ProtocolVersions = Versions.map((version) => `${ProtocolGroup}/${version}`);
const CacheTypes = ['ServiceAccount', 'Token'] as const;

export interface ConfigFile {
  path: string;
  data: Uint8Array;
}

/** The providers of all files in their order. Throws ProviderConfigError. */
export function readProviderConfigs(files: readonly ConfigFile[], tokensEnabled: boolean): ProviderConfig[] {
  const faults: string[] = [];
  const providers: ProviderConfig[] = [];
  const seen = new Map<string, string>();
  for (const { path, data } of files) {
    const fault = (field: string, rule: string) => void faults.push(`${path}: ${field === '' ? '' : `${field}: `}${rule}`);
    for (const [field, provider] of readFile(data, tokensEnabled, fault)) {
      const before = seen.get(provider.name);
      if (before !== undefined) fault(`${field}.name`, `${JSON.stringify(provider.name)} is taken by ${before}`);
      seen.set(provider.name, `${field} of ${path}`);
      providers.push(provider);
    }
  }
  if (faults.length > 0) throw new ProviderConfigError(faults.join('\n'));
  if (providers.length === 0) throw new ProviderConfigError(`${files.map(({ path }) => path).join(', ')}: providers: must not be empty`);
  return providers;
}

type Fault = (field: string, rule: string) => void;

function readFile(data: Uint8Array, tokensEnabled: boolean, fault: Fault): [string, ProviderConfig][] {
  const { value, duplicates, faults } = parseLocated(data);
  for (const { at, message } of faults) fault('', `line ${at.line}: ${message}`);
  for (const { path, at } of duplicates) fault(path, `stands twice, again in line ${at.line}`);
  if (value === undefined) return [];
  const top = new Fields(plain(value), '', fault);
  const apiVersion = top.text('apiVersion');
  const kind = top.text('kind');
  const version = Versions.find((v) => apiVersion === `${Group}/${v}`);
  if (kind !== Kind || version === undefined) {
    fault('', `must be a ${Kind} of ${Group}/${Versions.join(', ')}, not ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)}`);
    return [];
  }
  const entries = top.list('providers').map((entry, i): [string, ProviderConfig] => {
    const at = `providers[${i}]`;
    return [at, readProvider(new Fields(entry, at, fault), version, tokensEnabled, fault)];
  });
  top.end();
  return entries;
}

function readProvider(of: Fields, version: string, tokensEnabled: boolean, fault: Fault): ProviderConfig {
  const name = of.text('name');
  if (name === '' || name === '.' || name === '..' || /[/ \0]/.test(name)) {
    fault(of.path('name'), `${JSON.stringify(name)} must name a file: not empty, '.' or '..', without '/' and spaces`);
  }
  const apiVersion = of.text('apiVersion');
  if (!ProtocolVersions.includes(apiVersion)) fault(of.path('apiVersion'), `must be one of ${ProtocolVersions.join(', ')}`);
  const matchImages = of.texts('matchImages');
  if (matchImages.length === 0) fault(of.path('matchImages'), 'must not be empty');
  matchImages.forEach((pattern, i) => {
    try {
      parseSchemelessUrl(pattern);
    } catch (err) {
      fault(of.path(`matchImages[${i}]`), err instanceof Error ? err.message : String(err));
    }
  });
  const env = of.list('env').map((entry, i) => {
    const fields = new Fields(entry, of.path(`env[${i}]`), fault);
    const variable = { name: fields.text('name'), value: fields.text('value') };
    fields.end();
    return variable;
  });
  const tokens = version === 'v1' ? of.take('tokenAttributes') : undefined;
  const config: ProviderConfig = {
    name,
    matchImages,
    defaultCacheMs: of.milliseconds('defaultCacheDuration'),
    apiVersion,
    args: of.texts('args'),
    env,
    tokenAttributes: undefined,
  };
  of.end();
  if (tokens === undefined || tokens === null) return config;
  const at = of.path('tokenAttributes');
  if (!tokensEnabled) fault(at, 'needs the feature gate KubeletServiceAccountTokenForCredentialProviders');
  if (apiVersion !== ProtocolVersions[0]) fault(at, `needs apiVersion to be ${ProtocolVersions[0]}`);
  return { ...config, tokenAttributes: readTokenAttributes(new Fields(tokens, at, fault), fault) };
}

function readTokenAttributes(of: Fields, fault: Fault): TokenAttributes {
  const audience = of.text('serviceAccountTokenAudience');
  if (audience === '') fault(of.path('serviceAccountTokenAudience'), 'must not be empty');
  const cacheText = of.text('cacheType');
  const cacheType = CacheTypes.find((type) => type === cacheText);
  if (cacheType === undefined) fault(of.path('cacheType'), `must be one of ${CacheTypes.join(', ')}`);
  const required = of.take('requireServiceAccount');
  if (typeof required !== 'boolean') fault(of.path('requireServiceAccount'), 'must be true or false');
  const keys = (name: string) => {
    const found = of.texts(name);
    found.forEach((key, i) => {
      for (const rule of qualifiedNameFaults(key.toLowerCase())) fault(of.path(`${name}[${i}]`), rule);
      if (found.indexOf(key) < i) fault(of.path(`${name}[${i}]`), 'stands twice');
    });
    return found;
  };
  const requiredAnnotations = keys('requiredServiceAccountAnnotationKeys');
  const optionalAnnotations = keys('optionalServiceAccountAnnotationKeys');
  if (required === false && requiredAnnotations.length > 0) {
    fault(of.path('requiredServiceAccountAnnotationKeys'), 'must be empty while requireServiceAccount is false');
  }
  const both = requiredAnnotations.filter((key) => optionalAnnotations.includes(key));
  if (both.length > 0) fault(of.path('optionalServiceAccountAnnotationKeys'), `holds what is required as well: ${both.join(', ')}`);
  of.end();
  return {
    audience,
    cacheType: cacheType ?? 'Token',
    requireServiceAccount: required === true,
    requiredAnnotations,
    optionalAnnotations,
  };
}

/** Takes the fields of an object one by one; what is left at the end is unknown. */
class Fields {
  readonly #left: Map<string, unknown>;
  readonly #at: string;
  readonly #fault: Fault;

  constructor(value: unknown, at: string, fault: Fault) {
    if (!(value instanceof Map)) fault(at, 'must be an object');
    this.#left = value instanceof Map ? new Map<string, unknown>(value as Map<string, unknown>) : new Map();
    this.#at = at;
    this.#fault = fault;
  }

  path(name: string): string {
    return this.#at === '' ? name : `${this.#at}.${name}`;
  }

  take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value;
  }

  /** '' when it is not there. */
  text(name: string): string {
    const value = this.take(name) ?? '';
    if (typeof value === 'string') return value;
    this.#fault(this.path(name), 'must be a text');
    return '';
  }

  list(name: string): unknown[] {
    const value = this.take(name) ?? [];
    if (Array.isArray(value)) return value;
    this.#fault(this.path(name), 'must be a list');
    return [];
  }

  texts(name: string): string[] {
    return this.list(name).flatMap((value, i) => {
      if (typeof value === 'string') return [value];
      this.#fault(this.path(`${name}[${i}]`), 'must be a text');
      return [];
    });
  }

  /** A duration that must be there and not negative. */
  milliseconds(name: string): number {
    const value = this.take(name);
    try {
      const ms = Number(durationFromJson(value)) / 1e6;
      if (ms >= 0) return ms;
      this.#fault(this.path(name), 'must not be negative');
    } catch (err) {
      this.#fault(this.path(name), value === undefined ? 'must be there' : err instanceof Error ? err.message : String(err));
    }
    return 0;
  }

  end(): void {
    for (const name of this.#left.keys()) this.#fault(this.path(name), 'is no field that this file may have');
  }
}

/** Objects become maps. */
function plain(of: Located): unknown {
  if (of.kind === 'map') return new Map([...of.entries].map(([key, { value }]) => [key, plain(value)]));
  return of.kind === 'list' ? of.items.map(plain) : of.value;
}
