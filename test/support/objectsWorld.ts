import type { Pod, PodSpec } from '../../src/api/types.ts';
import { KubeClient } from '../../src/kube/http-client.ts';
import { unlimited } from '../../src/kube/rate-limiter.ts';
import { ClusterObjects, type ClusterObjectsDeps } from '../../src/objects/cluster-objects.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { SimApiServer } from '../sim/apiserver.ts';
import type { StoredObject } from '../sim/apiserver-store.ts';
import { SimClock } from '../sim/clock.ts';
import { SimRandom } from '../sim/random.ts';

type Kind = 'configmaps' | 'secrets';

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** What pods refer to, on a simulated API server in virtual time. `stop` at the end. */
export class ObjectsWorld {
  readonly clock = new SimClock();
  readonly server: SimApiServer;
  readonly api: KubeClient;
  readonly objects: ClusterObjects;
  /** UIDs of pods of which a missing object has come. */
  readonly appeared: string[] = [];
  ttlMs = 60_000;
  readonly #random = new SimRandom(7);
  readonly #stop = new AbortController();

  constructor(strategy: ClusterObjectsDeps['strategy'] = 'Watch') {
    const { clock } = this;
    this.server = new SimApiServer({ clock, random: this.#random.fork('server') });
    this.api = new KubeClient({
      transport: this.server,
      auth: { headers: () => Promise.resolve({}), rejected: () => false },
      limiter: unlimited,
      clock,
      log: silentLogger,
      userAgent: 'kubelet/test',
    });
    this.objects = new ClusterObjects({
      api: this.api,
      clock,
      random: this.#random.fork('objects'),
      log: silentLogger,
      strategy,
      ttlMs: () => this.ttlMs,
      syncFrequencyMs: 60_000,
      appeared: (uid) => void this.appeared.push(uid),
    });
    this.objects.start(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const stopped = this.objects.stop();
    await this.clock.settle();
    await stopped;
    this.server.close();
  }

  /** Creates or replaces `ns/name`. */
  put(kind: Kind, name: string, data: Record<string, string>, more: Record<string, string | boolean> = {}): void {
    const values = kind === 'secrets' ? Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])) : data;
    const old = this.server.store.get(`/api/v1/${kind}`, `ns/${name}`);
    const uid = old?.metadata['uid'] ?? this.#random.hex(8);
    const object: StoredObject = { metadata: { name, namespace: 'ns', uid }, data: values, ...more };
    this.server.store.put(`/api/v1/${kind}`, `ns/${name}`, object);
  }

  remove(kind: Kind, name: string): void {
    this.server.store.remove(`/api/v1/${kind}`, `ns/${name}`);
  }

  /** Lets virtual time pass until `work` is over. */
  async after<T>(work: Promise<T>, maxMs = 120_000): Promise<T> {
    let over = false;
    const settled = work.finally(() => {
      over = true;
    });
    settled.catch(() => {});
    if (!(await this.clock.runUntil(() => over, maxMs))) throw new Error(`still not over after ${maxMs} ms`);
    return settled;
  }

  /** The data of a config map as an environment reads it. */
  async configMap(name: string): Promise<Record<string, string> | undefined> {
    const found = await this.after(this.objects.env.configMap('ns', name));
    return found && Object.fromEntries(found.data);
  }

  async secret(name: string): Promise<Record<string, string> | undefined> {
    const found = await this.after(this.objects.env.secret('ns', name));
    return found && Object.fromEntries(found.data);
  }

  /** How many requests about single config maps and secrets there were. */
  get asked(): number {
    return this.server.requests.filter((r) => /\/(configmaps|secrets)/.test(r.path)).length;
  }
}

/** A pod of the namespace `ns` whose environment comes from these config maps and secrets. */
export function podReading(
  uid: string,
  { configMaps = [], secrets = [] }: { configMaps?: string[]; secrets?: string[] },
  spec: Partial<PodSpec> = {},
): Pod {
  const envFrom = [...configMaps.map((name) => ({ configMapRef: { name } })), ...secrets.map((name) => ({ secretRef: { name } }))];
  return { metadata: { name: uid, namespace: 'ns', uid }, spec: { containers: [{ name: 'c', envFrom }], ...spec } };
}
