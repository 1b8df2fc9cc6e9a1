import assert from 'node:assert/strict';
import type { KubeObject } from '../../src/kube/api.ts';
import { KubeClient } from '../../src/kube/http-client.ts';
import type { Change } from '../../src/kube/object-store.ts';
import { unlimited } from '../../src/kube/rate-limiter.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { SimApiServer, type SimApiServerOptions } from './apiserver.ts';
import type { StoredObject } from './apiserver-store.ts';
import { SimClock } from './clock.ts';
import { SimRandom } from './random.ts';

const Pods = '/api/v1/pods';
/** Of 20 names, so that pods of the same name come again. */
const Names = 20;

interface Write {
  key: string;
  version: number;
  at: number;
}

/**
 * A reflector, the server that it follows, and somebody who writes. Every change that the reflector tells is held
 * against what it told before; every write is timed until it is known.
 */
export class ReflectorWorld {
  readonly clock = new SimClock();
  readonly random: SimRandom;
  readonly server: SimApiServer;
  readonly reflector: Reflector<KubeObject>;
  /** Milliseconds from a write until the reflector knew of it, or of a later one of the same pod. */
  worstGap = 0;
  told = 0;
  readonly faults: string[] = [];
  readonly #stop = new AbortController();
  readonly #shadow = new Map<string, KubeObject>();
  #unknown: Write[] = [];
  #writing = true;
  #run: Promise<void> | undefined;

  constructor(seed: number, options: Partial<SimApiServerOptions> & { pageSize?: number; askStreaming?: boolean } = {}) {
    this.random = new SimRandom(seed);
    const { clock } = this;
    this.server = new SimApiServer({ clock, random: this.random.fork('server'), ...options });
    const api = new KubeClient({
      transport: this.server,
      auth: { headers: () => Promise.resolve({}), rejected: () => false },
      limiter: unlimited,
      clock,
      log: silentLogger,
      userAgent: 'kubelet/test',
    });
    this.reflector = new Reflector({
      api,
      clock,
      random: this.random.fork('reflector'),
      log: silentLogger,
      path: Pods,
      fieldSelector: 'spec.nodeName=me',
      streamingList: options.askStreaming ?? options.streamingList ?? true,
      pageSize: options.pageSize ?? 500,
      onChange: (change) => this.#told(change),
    });
  }

  async start(): Promise<void> {
    for (let i = 0; i < Names / 2; i++) this.write();
    this.begin();
    assert.ok(await this.clock.runUntil(() => this.reflector.synced, 120_000), 'never synced');
    this.#later();
  }

  /** The reflector only, without a wait for its first list. */
  begin(): void {
    this.#run = this.reflector.run(this.#stop.signal);
    void this.#afterLists();
  }

  /** A pod that came and went between two lists is told by nobody: once a newer list is there, its writes are known. */
  async #afterLists(): Promise<void> {
    let lists = 0;
    for await (const _state of this.reflector.states(this.#stop.signal)) {
      if (this.reflector.counts.lists === lists) continue;
      lists = this.reflector.counts.lists;
      const version = Number(this.reflector.resourceVersion);
      const now = this.clock.monotonic();
      for (const write of this.#unknown) if (write.version <= version) this.worstGap = Math.max(this.worstGap, now - write.at);
      this.#unknown = this.#unknown.filter((write) => write.version > version);
    }
  }

  /** One more write: create, change, delete, delete and create under the same name, or move to another node. */
  write(): void {
    const { store } = this.server;
    const name = `p${this.random.int(1, Names)}`;
    const key = `ns/${name}`;
    const old = store.get(Pods, key);
    if (!old) {
      this.#note(key, store.put(Pods, key, this.#pod(name)));
      return;
    }
    const dice = this.random.float();
    // On another node it is nobody's business here.
    if ((old['spec'] as { nodeName: string }).nodeName !== 'me') {
      store.remove(Pods, key);
      return;
    }
    if (dice < 0.6) this.#note(key, store.put(Pods, key, { ...old, status: { note: this.random.hex(4) } }));
    else if (dice < 0.9) {
      this.#note(key, store.remove(Pods, key));
      if (dice < 0.7) this.#note(key, store.put(Pods, key, this.#pod(name)));
    } else this.#note(key, store.put(Pods, key, { ...old, spec: { nodeName: 'other' } }));
  }

  /** Lets the writes end and everything arrive, stops, and compares. */
  async finish(settleMs = 120_000): Promise<void> {
    this.#writing = false;
    await this.clock.runUntil(() => this.#unknown.length === 0, settleMs);
    assert.deepEqual(this.#unknown, [], 'writes that the reflector never learnt of');
    const here = [...this.server.store.collection(Pods).objects].filter(([, o]) => (o['spec'] as { nodeName: string }).nodeName === 'me');
    const plain = (entries: Iterable<[string, unknown]>) => Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    assert.deepEqual(plain(this.reflector.objects), plain(here));
    assert.deepEqual(plain(this.#shadow), plain(here), 'what was told adds up to what there is');
    assert.deepEqual(this.faults, []);
    await this.stop();
  }

  async stop(): Promise<void> {
    this.#writing = false;
    this.#stop.abort();
    await this.#run;
    this.server.close();
  }

  /** Requests since `from`. */
  requestsSince(from: number): number {
    return this.server.requests.length - from;
  }

  /** The database went back: what was written since is nobody's to learn. */
  forgetWrites(): void {
    this.#unknown = [];
  }

  #later(): void {
    this.clock.after(this.random.between(100, 1500), () => {
      if (!this.#writing) return;
      this.write();
      this.#later();
    });
  }

  #pod(name: string): StoredObject {
    return {
      metadata: { name, namespace: 'ns', uid: this.random.hex(8), managedFields: [{ manager: 'x' }] },
      spec: { nodeName: 'me' },
      // So that a line is cut within a character, too.
      status: { note: 'größe 日本' },
    };
  }

  #note(key: string, object: StoredObject | undefined): void {
    // What the reflector keeps has no managedFields: nor has the server's, to be compared.
    if (object) this.#unknown.push({ key, version: Number(object.metadata['resourceVersion']), at: this.clock.monotonic() });
    const stored = this.server.store.get(Pods, key);
    if (stored) delete stored.metadata['managedFields'];
  }

  #told(change: Change<KubeObject>): void {
    this.told++;
    const { namespace = '', name, resourceVersion, uid } = change.object.metadata;
    const key = `${namespace}/${name}`;
    const before = this.#shadow.get(key);
    if (change.type === 'added') {
      if (before) this.faults.push(`${key} added twice`);
      this.#shadow.set(key, change.object);
    } else if (change.type === 'updated') {
      if (!before) this.faults.push(`${key} updated, and not there`);
      else if (before !== change.old) this.faults.push(`${key} updated from another form`);
      else if (before.metadata.resourceVersion === resourceVersion) this.faults.push(`${key} version ${resourceVersion} told twice`);
      if (before && before.metadata.uid !== uid) this.faults.push(`${key} became another pod`);
      this.#shadow.set(key, change.object);
    } else {
      if (!before) this.faults.push(`${key} deleted twice`);
      if (before && before.metadata.uid !== uid) this.faults.push(`${key} deleted as another pod`);
      this.#shadow.delete(key);
    }
    this.#learnt(key, change);
  }

  #learnt(key: string, change: Change<KubeObject>): void {
    const now = this.clock.monotonic();
    // A missed deletion is known at the version of the list, a seen one at its own.
    const upTo = change.type === 'deleted' && change.missed ? Number.POSITIVE_INFINITY : Number(change.object.metadata.resourceVersion);
    this.#unknown = this.#unknown.filter((write) => {
      const known = write.key === key && write.version <= upTo;
      if (known) this.worstGap = Math.max(this.worstGap, now - write.at);
      return !known;
    });
  }
}
