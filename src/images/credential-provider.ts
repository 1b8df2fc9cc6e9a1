import { createHash } from 'node:crypto';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { CredentialSource } from './credential-index.ts';
import type { DockerConfig } from './docker-config.ts';
import type { ProviderConfig, TokenAttributes } from './provider-config.ts';
import type { ProviderRequest, ProviderResponse } from './provider-protocol.ts';
import { parseSchemelessUrl, type RegistryUrl, RegistryUrlError, registryMatches } from './registry-url.ts';

const PurgeMs = 15 * 60_000;

/** Service accounts, where there is an API server. */
export interface ServiceAccountPort {
  /** Rejects when there is no such service account. */
  serviceAccount(namespace: string, name: string): Promise<{ uid: string; annotations: ReadonlyMap<string, string> }>;
  /** A token for the audience that is bound to the pod. */
  token(pod: Pod, serviceAccountUid: string, audience: string): Promise<string>;
}

export interface CredentialProviderDeps {
  config: ProviderConfig;
  /** Runs the plug-in. */
  ask(request: ProviderRequest): Promise<ProviderResponse>;
  /** Undefined on a node without an API server. */
  accounts: ServiceAccountPort | undefined;
  clock: Pick<Clock, 'monotonic'>;
}

/** What a plug-in gives for an image. */
export interface Provided {
  logins: DockerConfig;
  /** Whose they are; undefined: the node's. */
  source: CredentialSource | undefined;
}

interface Asker {
  source: CredentialSource;
  token: string;
  annotations: Map<string, string>;
  /** What kept credentials are told apart by. */
  key: string;
}

/** One plug-in: which images it is asked for, and what it said before (contract: node.md §12). */
export class CredentialProvider {
  readonly #deps: CredentialProviderDeps;
  readonly #patterns: readonly RegistryUrl[];
  readonly #kept = new Map<string, { logins: DockerConfig; until: number }>();
  readonly #asking = new Map<string, Promise<ProviderResponse>>();
  #purgedAt: number;

  constructor(deps: CredentialProviderDeps) {
    this.#deps = deps;
    this.#patterns = deps.config.matchImages.map(parseSchemelessUrl);
    this.#purgedAt = deps.clock.monotonic();
  }

  get name(): string {
    return this.#deps.config.name;
  }

  /** Undefined when it has nothing to do with this image or pod. Rejects when it failed. */
  async provide(repo: string, pod: Pod): Promise<Provided | undefined> {
    if (!this.#isFor(repo)) return undefined;
    const { tokenAttributes } = this.#deps.config;
    const account = pod.spec.serviceAccountName ?? '';
    let asker: Asker | undefined;
    if (tokenAttributes !== undefined) {
      if (account === '' && tokenAttributes.requireServiceAccount) return undefined;
      if (account !== '') {
        asker = await this.#askerOf(pod, account, tokenAttributes);
        if (asker === undefined) return undefined;
      }
    }
    const logins = this.#find(repo, asker) ?? this.#keep(repo, asker, await this.#ask(repo, asker));
    return { logins, source: asker?.source };
  }

  #isFor(repo: string): boolean {
    try {
      const target = parseSchemelessUrl(repo);
      return this.#patterns.some((pattern) => registryMatches(pattern, target));
    } catch (err) {
      if (err instanceof RegistryUrlError) return false;
      throw err;
    }
  }

  /** Undefined when the service account lacks an annotation that the plug-in requires. */
  async #askerOf(pod: Pod, name: string, attributes: TokenAttributes): Promise<Asker | undefined> {
    const { accounts } = this.#deps;
    if (accounts === undefined) throw new Error('a node without an API server has no tokens of service accounts');
    const { namespace } = pod.metadata;
    const account = await accounts.serviceAccount(namespace, name);
    if (attributes.requiredAnnotations.some((key) => !account.annotations.has(key))) return undefined;
    const annotations = new Map<string, string>();
    for (const key of [...attributes.requiredAnnotations, ...attributes.optionalAnnotations].sort()) {
      const value = account.annotations.get(key);
      if (value !== undefined) annotations.set(key, value);
    }
    const token = await accounts.token(pod, account.uid, attributes.audience);
    const key = [namespace, name, account.uid, [...annotations], attributes.cacheType === 'Token' ? hashOf(token) : ''];
    return { source: { kind: 'serviceAccount', namespace, name, uid: account.uid }, token, annotations, key: JSON.stringify(key) };
  }

  /** Those who want the same at the same time share one run. */
  #ask(repo: string, asker: Asker | undefined): Promise<ProviderResponse> {
    const key = JSON.stringify(asker === undefined ? [repo] : [repo, hashOf(asker.token), [...asker.annotations]]);
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      const request = {
        image: repo,
        serviceAccountToken: asker?.token ?? '',
        serviceAccountAnnotations: asker?.annotations ?? new Map<string, string>(),
      };
      asking = this.#deps.ask(request).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  #find(repo: string, asker: Asker | undefined): DockerConfig | undefined {
    const now = this.#deps.clock.monotonic();
    if (now - this.#purgedAt > PurgeMs) {
      for (const [key, { until }] of this.#kept) if (until < now) this.#kept.delete(key);
      this.#purgedAt = now;
    }
    for (const scope of ['Image', 'Registry', 'Global'] as const) {
      const kept = this.#kept.get(keptKey(scope, repo, asker));
      if (kept !== undefined && now <= kept.until) return kept.logins;
    }
    return undefined;
  }

  #keep(repo: string, asker: Asker | undefined, response: ProviderResponse): DockerConfig {
    const { config, clock } = this.#deps;
    const logins: DockerConfig = new Map();
    for (const [pattern, { username, password }] of response.auth) {
      // A token is one pod's: kept for the service account it would be given to its other pods.
      if (asker !== undefined && password === asker.token && config.tokenAttributes?.cacheType !== 'Token') {
        throw new Error("the plug-in gave the service account's token for a password, which needs cacheType Token");
      }
      logins.set(pattern, { username, password, email: '' });
    }
    const ms = response.cacheMs ?? config.defaultCacheMs;
    if (ms > 0) this.#kept.set(keptKey(response.cacheKeyType, repo, asker), { logins, until: clock.monotonic() + ms });
    return logins;
  }
}

function keptKey(scope: ProviderResponse['cacheKeyType'], repo: string, asker: Asker | undefined): string {
  const of = scope === 'Image' ? repo : scope === 'Registry' ? repo.split('/', 1)[0] : '';
  return JSON.stringify([scope, of, asker?.key ?? '']);
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
