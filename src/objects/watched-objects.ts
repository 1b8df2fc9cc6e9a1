import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import { within } from '../host/within.ts';
import type { KubeApi, KubeObject } from '../kube/api.ts';
import { Reflector } from '../kube/reflector.ts';
import type { Logger } from '../observe/log.ts';
import type { ObjectKind } from './object-kind.ts';
import { keyOfObject, notRegistered, type ObjectSource } from './object-source.ts';

/** How long a read waits for the first list; as the real kubelet. */
const SyncWaitMs = 1_000;

export interface WatchedObjectsDeps<T extends KubeObject & { immutable?: boolean }> {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
  kind: Pick<ObjectKind<T, unknown>, 'name' | 'target'>;
  /** An object that nobody has read for so long is not watched until it is read again. Milliseconds. */
  idleMs: number;
  /** An object is there that was not when it was looked for before. Must not throw. */
  appeared?: ((namespace: string, name: string) => void) | undefined;
}

interface Watched<T extends KubeObject> {
  readonly namespace: string;
  readonly name: string;
  refs: number;
  watch: { reflector: Reflector<T>; stop: AbortController; running: Promise<void> } | undefined;
  /** From before the watch was stopped; undefined: there was none, or it is not known. */
  last: T | undefined;
  /** Never changes and is not asked for again. */
  immutable: boolean;
  readAt: number;
}

/**
 * One watch for each object that a registered pod refers to (strategy Watch, contract node.md §10). What is known is
 * given while the server is away. A watch ends with the last reference, when its object is immutable, and when nobody
 * reads it: the environment of a container is read once.
 */
export class WatchedObjects<T extends KubeObject & { immutable?: boolean }> implements ObjectSource<T> {
  readonly #deps: WatchedObjectsDeps<T>;
  readonly #entries = new Map<string, Watched<T>>();
  readonly #ending = new Set<Promise<void>>();

  constructor(deps: WatchedObjectsDeps<T>) {
    this.#deps = deps;
  }

  /** Watches that are open or wait to be opened again. */
  get watching(): number {
    return [...this.#entries.values()].filter((e) => e.watch !== undefined).length;
  }

  acquire(namespace: string, name: string): void {
    const key = keyOfObject(namespace, name);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.refs++;
      return;
    }
    const readAt = this.#deps.clock.monotonic();
    const entry: Watched<T> = { namespace, name, refs: 1, watch: undefined, last: undefined, immutable: false, readAt };
    this.#entries.set(key, entry);
    this.#watch(entry);
  }

  release(namespace: string, name: string): void {
    const key = keyOfObject(namespace, name);
    const entry = this.#entries.get(key);
    if (entry === undefined || --entry.refs > 0) return;
    this.#entries.delete(key);
    this.#unwatch(entry);
  }

  async read(namespace: string, name: string): Promise<T | undefined> {
    const { clock, kind } = this.#deps;
    const entry = this.#entries.get(keyOfObject(namespace, name));
    if (entry === undefined) throw notRegistered(namespace, name);
    entry.readAt = clock.monotonic();
    if (entry.immutable) return entry.last;
    const { reflector } = entry.watch ?? this.#watch(entry);
    if (!reflector.synced && !(await this.#firstList(entry, reflector))) {
      // Its server is away: what was known when it was last looked at is better than a container that does not start again.
      if (entry.last !== undefined) return entry.last;
      const health = reflector.health();
      const why = health.ok ? '' : ` (${health.reason})`;
      throw new Error(`failed to sync ${kind.name} cache: timed out waiting for the condition${why}`);
    }
    const object = objectOf(reflector);
    if (object?.immutable === true && entry.watch?.reflector === reflector) {
      entry.immutable = true;
      this.#unwatch(entry);
    }
    return object;
  }

  sweep(): void {
    const { clock, idleMs } = this.#deps;
    const before = clock.monotonic() - idleMs;
    for (const entry of this.#entries.values()) if (entry.watch !== undefined && entry.readAt < before) this.#unwatch(entry);
  }

  async stop(): Promise<void> {
    for (const entry of this.#entries.values()) this.#unwatch(entry);
    await Promise.all(this.#ending);
  }

  async #firstList({ last }: Watched<T>, reflector: Reflector<T>): Promise<boolean> {
    // A watch that fails already will not come in time for those that have something to fall back on.
    if (last !== undefined && !reflector.health().ok) return false;
    return within(this.#deps.clock, reflector.whenSynced(), SyncWaitMs);
  }

  #watch(entry: Watched<T>): { reflector: Reflector<T> } {
    const { api, clock, random, log, kind, appeared } = this.#deps;
    const { namespace, name } = entry;
    const stop = new AbortController();
    const reflector: Reflector<T> = new Reflector<T>({
      ...kind.target(namespace, name),
      api,
      clock,
      random,
      log,
      onChange: ({ type }) => {
        if (type === 'added' && reflector.synced) appeared?.(namespace, name);
      },
    });
    const watch = { reflector, stop, running: reflector.run(stop.signal) };
    entry.watch = watch;
    return watch;
  }

  #unwatch(entry: Watched<T>): void {
    const { watch } = entry;
    if (watch === undefined) return;
    if (watch.reflector.synced) entry.last = objectOf(watch.reflector);
    entry.watch = undefined;
    watch.stop.abort();
    const ended = watch.running.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** The field selector lets one object through. */
function objectOf<T extends KubeObject>(reflector: Reflector<T>): T | undefined {
  const [object] = reflector.objects.values();
  return object;
}
