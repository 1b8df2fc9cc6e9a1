import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector } from '../kube/reflector.ts';
import { nodeTarget } from '../kube/typed.ts';
import type { Node } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';

export interface NodeWatchDeps {
  api: KubeApi;
  nodeName: string;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** The node's own object as the API server has it. */
export class NodeWatch implements Service {
  readonly name = 'node-watch';
  readonly #deps: NodeWatchDeps;
  readonly #reflector: Reflector<Node>;
  readonly #told = Promise.withResolvers<void>();
  readonly #listeners = new Set<(node: Node) => void>();
  #current: Node | undefined;
  #uid = '';
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: NodeWatchDeps) {
    this.#deps = deps;
    const { api, clock, random, log, nodeName } = deps;
    this.#reflector = new Reflector<Node>({
      ...nodeTarget(nodeName),
      api,
      clock,
      random,
      log,
      onChange: (change) => {
        if (change.type === 'deleted') this.#gone(change.object);
        else this.seen(change.object);
      },
    });
  }

  start(signal: AbortSignal): void {
    void this.#reflector.whenSynced().then(() => this.#told.resolve());
    this.#loop = this.#reflector.run(signal);
  }

  ready(): Promise<void> {
    return this.#reflector.whenSynced();
  }

  health(): Health {
    return this.#reflector.health();
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** The newest that is known; undefined before the first list, and when the node does not exist. Not to be modified. */
  current(): Node | undefined {
    return this.#current;
  }

  /** UID of the first Node seen; empty before. Events about the node carry it (contract: events.md §3). */
  uid(): string {
    return this.#uid;
  }

  /** UID of the Node that is there now, and is not about to go: what may own a mirror pod or a lease. */
  liveUid(): string | undefined {
    const { uid, deletionTimestamp } = this.#current?.metadata ?? {};
    return typeof deletionTimestamp === 'string' ? undefined : uid;
  }

  /**
   * Resolves once the API server has told whether the node exists, by the watch or by the answer to a write: after an
   * outage the watch may wait for its time when registration has long got through. Rejects with the signal's reason
   * when it aborts first.
   */
  async known(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#told.promise, promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Calls `listener` with the node whenever it changes. */
  subscribe(listener: (node: Node) => void): void {
    this.#listeners.add(listener);
  }

  /** Takes a Node that the API server answered to a write: an older one, as the watch may still bring, changes nothing. */
  seen(node: Node): void {
    if (this.#current !== undefined && this.#current.metadata.uid === node.metadata.uid && isOlder(node, this.#current)) return;
    this.#current = node;
    this.#told.resolve();
    if (this.#uid === '') this.#uid = node.metadata.uid ?? '';
    for (const listener of this.#listeners) listener(node);
  }

  #gone(node: Node): void {
    if (this.#current?.metadata.uid !== node.metadata.uid) return;
    this.#current = undefined;
    this.#deps.log.warn('The Node object was deleted', { node: this.#deps.nodeName });
  }
}

/** Resource versions of one object grow; one that is no number counts as newer. */
function isOlder(a: Node, b: Node): boolean {
  const [x = '', y = ''] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  const number = /^[0-9]{1,30}$/;
  return number.test(x) && number.test(y) && BigInt(x) <= BigInt(y);
}
