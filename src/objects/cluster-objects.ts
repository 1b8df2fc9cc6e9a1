import { isUtf8 } from 'node:buffer';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi, KubeObject } from '../kube/api.ts';
import { unlessNotFound } from '../kube/errors.ts';
import { getClaim, getPersistentVolume, getServiceAccount } from '../kube/typed.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { CachedObjects } from './cached-objects.ts';
import { DirectObjects } from './direct-objects.ts';
import { type ConfigMapValue, configMapKind, type ObjectKind, type SecretValue, secretKind } from './object-kind.ts';
import { ObjectManager } from './object-manager.ts';
import { type FoundPullSecrets, pullSecretsOf } from './pull-secrets.ts';
import { RuntimeClasses } from './runtime-classes.ts';
import { ServiceLister } from './service-lister.ts';
import { type ServiceAccountToken, TokenManager, type TokenSpec } from './token-manager.ts';
import { type TrustBundleQuery, TrustBundles } from './trust-bundles.ts';
import { WatchedObjects } from './watched-objects.ts';

/** Sweeps of idle watches and expired tokens; contract node.md §10. */
const SweepMs = 60_000;
/** Volumes are read once a sync: an object that was not read for so many of them belongs to environments only. */
const IdleSyncs = 5;
/** For one request, its waits for a turn included. */
const RequestMs = 30_000;
/** What the API server gives to a request that names no life of its token. */
const DefaultTokenSeconds = 3600;

export interface ClusterObjectsDeps {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
  /** configMapAndSecretChangeDetectionStrategy */
  strategy: 'Watch' | 'Cache' | 'Get';
  /** Of strategy Cache, milliseconds; see `objectTtlMs`. */
  ttlMs(): number;
  syncFrequencyMs: number;
  /** An object that a pod of this UID refers to, and that was missing, is there. */
  appeared?: (podUid: string) => void;
}

/** Everything that pods read of the API server by name, for the time that they are registered. */
export class ClusterObjects implements Service {
  readonly name = 'objects';
  readonly services: ServiceLister;
  readonly runtimeClasses: RuntimeClasses;
  readonly #tokens: TokenManager;
  readonly #deps: ClusterObjectsDeps;
  readonly #trustBundles: TrustBundles;
  readonly #configMaps: ObjectManager<KubeObject, ConfigMapValue>;
  readonly #secrets: ObjectManager<KubeObject, SecretValue>;
  #work: Promise<unknown> = Promise.resolve();

  constructor(deps: ClusterObjectsDeps) {
    this.#deps = deps;
    this.services = new ServiceLister(deps);
    this.runtimeClasses = new RuntimeClasses(deps);
    this.#tokens = new TokenManager(deps);
    this.#trustBundles = new TrustBundles(deps);
    this.#configMaps = managerOf(deps, configMapKind, (ns, name) => this.#configMaps.referrers(ns, name));
    this.#secrets = managerOf(deps, secretKind, (ns, name) => this.#secrets.referrers(ns, name));
  }

  start(signal: AbortSignal): void {
    this.#work = Promise.all([this.services.run(signal), this.#sweep(signal)]);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Health {
    return this.services.health();
  }

  async stop(): Promise<void> {
    await this.#work;
    await Promise.all([this.runtimeClasses.stop(), this.#trustBundles.stop(), this.#configMaps.stop(), this.#secrets.stop()]);
  }

  /** Before each sync of a pod. */
  register(pod: Pod): void {
    this.#configMaps.register(pod);
    this.#secrets.register(pod);
  }

  /** Once the pod's volumes are gone. */
  unregister(uid: string): void {
    this.#configMaps.unregister(uid);
    this.#secrets.unregister(uid);
    this.#tokens.forgetPod(uid);
  }

  configMap(namespace: string, name: string): Promise<ConfigMapValue | undefined> {
    return this.#configMaps.get(namespace, name);
  }

  secret(namespace: string, name: string): Promise<SecretValue | undefined> {
    return this.#secrets.get(namespace, name);
  }

  /** For environments: values of secrets as text. One that is no UTF-8 holds a lone surrogate, which no variable may. */
  readonly env = {
    configMap: (namespace: string, name: string) => this.configMap(namespace, name),
    secret: async (namespace: string, name: string): Promise<{ data: ReadonlyMap<string, string> } | undefined> => {
      const secret = await this.secret(namespace, name);
      return secret && { data: new Map([...secret.data].map(([key, bytes]) => [key, textOf(bytes)])) };
    },
  };

  /** A token of the pod's service account that dies with the pod. `audience` '': the API server's own. */
  async token(pod: Pod, request: { audience: string; expirationSeconds: number }): Promise<string> {
    return (await this.podToken(pod, request)).token;
  }

  /** As `token`, with its end. */
  podToken(
    pod: Pod,
    { audience, expirationSeconds = DefaultTokenSeconds }: { audience: string; expirationSeconds: number | undefined },
  ): Promise<ServiceAccountToken> {
    return this.#tokens.token({ ...accountOf(pod), audiences: audience === '' ? [] : [audience], expirationSeconds });
  }

  /** A token of the pod's service account, which must be that of this UID, for what the node does in its name. */
  async tokenOfAccount(pod: Pod, serviceAccountUid: string, audience: string): Promise<string> {
    const request = { serviceAccountUid, audiences: [audience], expirationSeconds: DefaultTokenSeconds };
    return (await this.#tokens.token({ ...accountOf(pod), ...request })).token;
  }

  /** Asks the API server. Rejects with KubeError when it is not there. */
  async serviceAccount(namespace: string, name: string): Promise<{ uid: string; annotations: ReadonlyMap<string, string> }> {
    const { metadata } = await getServiceAccount(this.#deps.api, namespace, name);
    return { uid: metadata.uid ?? '', annotations: new Map(Object.entries(metadata.annotations ?? {})) };
  }

  /** Certificates of the cluster's trust bundles; undefined when nothing matches. Rejects while they are not known. */
  trustAnchors(query: TrustBundleQuery): Promise<string | undefined> {
    return this.#trustBundles.anchors(query);
  }

  /** Asks the API server at each call: what it says is the proof that the pod may use the volume. */
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined> {
    return unlessNotFound(getClaim(this.#deps.api, namespace, name, { timeoutMs: RequestMs }));
  }

  persistentVolume(name: string): Promise<PersistentVolume | undefined> {
    return unlessNotFound(getPersistentVolume(this.#deps.api, name, { timeoutMs: RequestMs }));
  }

  /** Never rejects. */
  pullSecrets(pod: Pod): Promise<FoundPullSecrets> {
    return pullSecretsOf(pod, (namespace, name) => this.secret(namespace, name), this.#deps.log);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(SweepMs, signal).catch(() => {});
      this.#configMaps.sweep();
      this.#secrets.sweep();
      this.#tokens.collect();
    }
  }
}

function accountOf({ metadata, spec }: Pod): Pick<TokenSpec, 'namespace' | 'serviceAccount' | 'pod'> {
  const { namespace, name, uid } = metadata;
  return { namespace, serviceAccount: spec.serviceAccountName || 'default', pod: { name, uid } };
}

function managerOf<T extends KubeObject & { immutable?: boolean }, V>(
  deps: ClusterObjectsDeps,
  kind: ObjectKind<T, V>,
  referrers: (namespace: string, name: string) => string[],
): ObjectManager<T, V> {
  const { api, clock, random, log, strategy, ttlMs, syncFrequencyMs, appeared } = deps;
  if (strategy === 'Get') return new ObjectManager(kind, new DirectObjects(api, kind));
  if (strategy === 'Cache') return new ObjectManager(kind, new CachedObjects({ api, clock, kind, ttlMs }));
  const tell = appeared && ((namespace: string, name: string) => referrers(namespace, name).forEach(appeared));
  return new ObjectManager(
    kind,
    new WatchedObjects({ api, clock, random, log, kind, idleMs: IdleSyncs * syncFrequencyMs, appeared: tell }),
  );
}

function textOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return isUtf8(bytes) ? text : `${text}\udcff`;
}
