import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import { within } from '../host/within.ts';
import type { KubeApi } from '../kube/api.ts';
import { requestToken } from '../kube/typed.ts';
import type { TokenRequest } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';

/** Contract node.md §10, service account token. Milliseconds. */
const MaxAgeMs = 24 * 60 * 60 * 1000;
const MaxJitterMs = 10_000;
/** Of its life, what is left when it is renewed. */
const RenewalShare = 0.2;
const RequestMs = 30_000;
/** How long a caller that has a token waits for a newer one: a server that does not answer must not hold up its pod. */
const RenewalWaitMs = 1_000;

export interface TokenSpec {
  namespace: string;
  serviceAccount: string;
  /** The server refuses when the service account of this name is another one by now. */
  serviceAccountUid?: string;
  /** Empty: the API server's own. */
  audiences: readonly string[];
  expirationSeconds: number;
  /** The token dies with this pod. */
  pod: { name: string; uid: string };
}

export interface ServiceAccountToken {
  token: string;
  /** Wall-clock milliseconds. */
  expiresAt: number;
}

interface Kept extends ServiceAccountToken {
  podUid: string;
  lifeMs: number;
}

export interface TokenManagerDeps {
  api: KubeApi;
  clock: Clock;
  random: Pick<Random, 'float'>;
  log: Logger;
}

/** Tokens of service accounts for pods, kept until 80 % of their life or a day are over, then renewed by who asks next. */
export class TokenManager {
  readonly #deps: TokenManagerDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #asking = new Map<string, Promise<Kept>>();

  constructor(deps: TokenManagerDeps) {
    this.#deps = deps;
  }

  /** How many tokens are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** A token that has not expired. A failed renewal leaves the old one until then. Rejects when there is none. */
  async token(spec: TokenSpec): Promise<ServiceAccountToken> {
    const { name, uid } = spec.pod;
    const key = JSON.stringify([
      spec.serviceAccount,
      spec.serviceAccountUid,
      spec.namespace,
      spec.audiences,
      spec.expirationSeconds,
      name,
      uid,
    ]);
    const kept = this.#kept.get(key);
    if (kept !== undefined && !this.#isDue(kept)) return kept;
    const asking = this.#ask(key, spec);
    try {
      if (kept === undefined || this.#isExpired(kept)) return await asking;
      return (await within(this.#deps.clock, asking, RenewalWaitMs)) ? await asking : kept;
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err);
      if (kept === undefined) throw new Error(`failed to fetch token: ${message}`, { cause: err });
      if (!this.#isExpired(kept)) return kept;
      throw new Error(`token of ${spec.namespace}/${spec.serviceAccount} expired and refresh failed: ${message}`, { cause: err });
    }
  }

  /** The pod is gone: nobody asks for its tokens again. */
  forgetPod(uid: string): void {
    for (const [key, { podUid }] of this.#kept) if (podUid === uid) this.#kept.delete(key);
  }

  /** Drops expired tokens. To be called once a minute. */
  collect(): void {
    for (const [key, kept] of this.#kept) if (this.#isExpired(kept)) this.#kept.delete(key);
  }

  /** One request at a time for each token, whoever asks. */
  #ask(key: string, spec: TokenSpec): Promise<Kept> {
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      asking = this.#request(spec)
        .then(
          (kept) => {
            this.#kept.set(key, kept);
            return kept;
          },
          (err: unknown) => {
            const { namespace, serviceAccount, pod } = spec;
            const about = { serviceAccount: `${namespace}/${serviceAccount}`, pod: `${namespace}/${pod.name}` };
            if (this.#kept.has(key)) this.#deps.log.error(err, "Couldn't update token", about);
            throw err;
          },
        )
        .finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  async #request({ namespace, serviceAccount, serviceAccountUid, audiences, expirationSeconds, pod }: TokenSpec): Promise<Kept> {
    const body: TokenRequest = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: serviceAccountUid === undefined ? {} : { uid: serviceAccountUid },
      spec: {
        audiences: [...audiences],
        expirationSeconds,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid },
      },
    };
    const answer = await requestToken(this.#deps.api, namespace, serviceAccount, body, { timeoutMs: RequestMs });
    const token = answer.status?.token;
    const expiresAt = Date.parse(answer.status?.expirationTimestamp ?? '');
    if (typeof token !== 'string' || token === '' || Number.isNaN(expiresAt)) throw new Error('the API server answered without a token');
    // The server may give it another life than was asked for.
    return { token, expiresAt, podUid: pod.uid, lifeMs: (answer.spec?.expirationSeconds ?? expirationSeconds) * 1000 };
  }

  #isDue({ expiresAt, lifeMs }: Kept): boolean {
    const { clock, random } = this.#deps;
    const now = clock.now();
    const jitter = random.float() * MaxJitterMs;
    return now > expiresAt - lifeMs + MaxAgeMs - jitter || now > expiresAt - lifeMs * RenewalShare - jitter;
  }

  #isExpired({ expiresAt }: Kept): boolean {
    return this.#deps.clock.now() > expiresAt;
  }
}
