import type { Clock } from '../host/clock.ts';
import type { KubeApi, KubeObject } from '../kube/api.ts';
import { unlessNotFound } from '../kube/errors.ts';
import type { ObjectKind } from './object-kind.ts';
import { keyOfObject, notRegistered, type ObjectSource } from './object-source.ts';

export interface CachedObjectsDeps<T extends KubeObject> {
  api: KubeApi;
  clock: Clock;
  kind: Pick<ObjectKind<T, unknown>, 'get'>;
  /** How long an object may be given without asking, milliseconds. Read at each use: it comes from the node's object. */
  ttlMs(): number;
}

interface Cached<T> {
  refs: number;
  /** What the server said last; undefined: not asked yet. */
  known: { object: T | undefined; at: number } | undefined;
  asking: Promise<T | undefined> | undefined;
  /** Counts registrations: an answer asked for before one does not count after it. */
  generation: number;
}

/** For one request, its waits for a turn included. */
const RequestMs = 30_000;

/** Asks for an object when it is read and what is known is too old (strategy Cache, contract node.md §10). */
export class CachedObjects<T extends KubeObject> implements ObjectSource<T> {
  readonly #deps: CachedObjectsDeps<T>;
  readonly #entries = new Map<string, Cached<T>>();

  constructor(deps: CachedObjectsDeps<T>) {
    this.#deps = deps;
  }

  /** A new reader sees what was written before it came: the next read asks. */
  acquire(namespace: string, name: string): void {
    const key = keyOfObject(namespace, name);
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#entries.set(key, { refs: 1, known: undefined, asking: undefined, generation: 0 });
      return;
    }
    entry.refs++;
    entry.generation++;
    entry.asking = undefined;
    if (entry.known !== undefined) entry.known = { object: entry.known.object, at: Number.NEGATIVE_INFINITY };
  }

  release(namespace: string, name: string): void {
    const key = keyOfObject(namespace, name);
    const entry = this.#entries.get(key);
    if (entry !== undefined && --entry.refs <= 0) this.#entries.delete(key);
  }

  async read(namespace: string, name: string): Promise<T | undefined> {
    const { clock, ttlMs } = this.#deps;
    const entry = this.#entries.get(keyOfObject(namespace, name));
    if (entry === undefined) throw notRegistered(namespace, name);
    if (entry.known !== undefined && clock.monotonic() - entry.known.at < ttlMs()) return entry.known.object;
    entry.asking ??= this.#ask(entry, namespace, name);
    return entry.asking;
  }

  sweep(): void {}

  async stop(): Promise<void> {
    await Promise.allSettled([...this.#entries.values()].flatMap(({ asking }) => asking ?? []));
  }

  async #ask(entry: Cached<T>, namespace: string, name: string): Promise<T | undefined> {
    const { generation } = entry;
    const at = this.#deps.clock.monotonic();
    try {
      const object = await this.#get(entry, namespace, name);
      if (entry.generation === generation) entry.known = { object, at };
      return object;
    } catch (err) {
      // Better what was there than nothing, while the server is away.
      if (entry.known !== undefined) return entry.known.object;
      throw err;
    } finally {
      if (entry.generation === generation) entry.asking = undefined;
    }
  }

  async #get({ known }: Cached<T>, namespace: string, name: string): Promise<T | undefined> {
    const { api, kind } = this.#deps;
    // A mere refresh need not burden the database.
    const cached = known?.object !== undefined && known.at !== Number.NEGATIVE_INFINITY;
    const object = await unlessNotFound(kind.get(api, namespace, name, { timeoutMs: RequestMs, cached }));
    return object !== undefined && known?.object !== undefined && isOlder(object, known.object) ? known.object : object;
  }
}

/** A cache of the server may be behind what it gave before. Versions are decimal numbers that grow (KEP-5504). */
function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [x, y] = [a.metadata.resourceVersion ?? '', b.metadata.resourceVersion ?? ''];
  if (a.metadata.uid !== b.metadata.uid || !/^[1-9]\d*$/.test(x) || !/^[1-9]\d*$/.test(y)) return false;
  return x.length === y.length ? x < y : x.length < y.length;
}
