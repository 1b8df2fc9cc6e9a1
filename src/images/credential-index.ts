import { createHash } from 'node:crypto';
import { compareGoStrings, goJsonString } from '../compat/go-text.ts';
import type { AuthConfig } from '../cri/types.ts';
import type { DockerConfig, RegistryLogin } from './docker-config.ts';
import { parseSchemelessUrl, type RegistryUrl, RegistryUrlError, registryMatches } from './registry-url.ts';

/** What a credential came from: a secret, or a plug-in that was told who the pod's service account is. */
export interface CredentialSource {
  kind: 'secret' | 'serviceAccount';
  namespace: string;
  name: string;
  uid: string;
}

/** A login and where it came from; without a source it is the node's own, for all its pods. */
export interface Credential {
  login: RegistryLogin;
  source: CredentialSource | undefined;
}

/** Logins of Docker Hub lie under this name. */
const DefaultRegistry = 'index.docker.io';

/** Credentials by registry, found by image. Source: vectors credential-match. */
export class CredentialIndex {
  readonly #byRegistry = new Map<string, { url: RegistryUrl | undefined; credentials: Credential[] }>();
  /** Longest prefix first: names in reverse order of their bytes. */
  #order: string[] = [];

  /** Registries that are no URL are left out: their names, for the log. */
  add(config: DockerConfig, source?: CredentialSource): string[] {
    const refused: string[] = [];
    for (const [registry, login] of config) {
      const key = registryKey(registry);
      if (key === undefined) {
        refused.push(registry);
        continue;
      }
      const entry = this.#byRegistry.get(key) ?? { url: urlOrNone(key), credentials: [] };
      entry.credentials.push({ login, source });
      this.#byRegistry.set(key, entry);
    }
    this.#order = [...this.#byRegistry.keys()].sort((a, b) => compareGoStrings(b, a));
    return refused;
  }

  /** In the order in which they are to be tried. `repo` is the image without tag and digest, with its registry. */
  lookup(repo: string): Credential[] {
    const target = urlOrNone(repo);
    const found =
      target === undefined
        ? []
        : this.#order.flatMap((key) => {
            const { url, credentials } = this.#byRegistry.get(key) ?? { url: undefined, credentials: [] };
            return url !== undefined && registryMatches(url, target) ? credentials : [];
          });
    if (found.length > 0 || !isOfDefaultRegistry(repo)) return found;
    return [...(this.#byRegistry.get(DefaultRegistry)?.credentials ?? [])];
  }
}

/** Docker takes `/v1/` and `/v2/` behind a registry for the registry itself. Undefined: it is no URL. */
function registryKey(registry: string): string | undefined {
  const url = urlOrNone(registry.replace(/^https?:\/\//, ''));
  if (url === undefined) return undefined;
  const path = /^\/v[12]\//.test(url.path) ? url.path.slice(3) : url.path;
  return path === '/' ? url.host : url.host + path;
}

function urlOrNone(text: string): RegistryUrl | undefined {
  try {
    return parseSchemelessUrl(text);
  } catch (err) {
    if (err instanceof RegistryUrlError) return undefined;
    throw err;
  }
}

function isOfDefaultRegistry(repo: string): boolean {
  const [first = '', rest] = repo.split('/', 2);
  if (first === '') return false;
  return rest === undefined || first === 'docker.io' || first === DefaultRegistry || !/[.:]/.test(first);
}

/** As the runtime takes it. */
export function authConfig({ login }: Credential): AuthConfig {
  const { username, password } = login;
  return { username, password, auth: '', serverAddress: '', identityToken: '', registryToken: '' };
}

/** What the records of pulled images know a credential by: SHA-256 of its JSON, empty fields left out. */
export function credentialHash({ login }: Credential): string {
  const fields = (['username', 'password', 'email'] as const).filter((name) => login[name] !== '');
  const text = `{${fields.map((name) => `"${name}":${goJsonString(login[name])}`).join(',')}}`;
  return createHash('sha256').update(text).digest('hex');
}
