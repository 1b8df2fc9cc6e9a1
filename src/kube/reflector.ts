import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { Logger } from '../observe/log.ts';
import type { Health } from '../observe/service.ts';
import type { KubeApi, KubeObject } from './api.ts';
import { Deadline } from './deadline.ts';
import { isKubeError, KubeError, type KubeErrorCode } from './errors.ts';
import { listAll } from './list-pages.ts';
import { type Change, keyOf, ObjectStore } from './object-store.ts';
import { RetryBackoff } from './retry-backoff.ts';
import { isKubeObject, watchEvent } from './watch-event.ts';

/** Which objects. */
export interface ListTarget {
  /** Of the collection: `/api/v1/pods`. */
  path: string;
  fieldSelector?: string | undefined;
  labelSelector?: string | undefined;
}

export interface ReflectorOptions<T extends KubeObject> extends ListTarget {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Every change, in order, as it is known. Must not throw and must not wait. */
  onChange?(change: Change<T>): void;
  /** Objects on a page; default 500, as client-go. */
  pageSize?: number;
  /** Take the list as the beginning of a watch where the server can (default true): one request, one object in memory at a time. */
  streamingList?: boolean;
}

/** Counted since the start. */
export interface ReflectorCounts {
  /** Requests sent: lists (each page) and watches. */
  requests: number;
  lists: number;
  watches: number;
  /** Waits after a failure. */
  waits: number;
  /** Watches that were ended because nothing came. */
  silences: number;
}

/** A server sends a bookmark every minute: after two and a half the connection, or its proxy, is taken for dead. */
const SilenceMs = 150_000;
/** The server's own limit for a request. */
const RequestTimeoutMs = 60_000;
/** Until the server ends a watch: uniform in [5, 10) min, as client-go. */
const MinWatchSeconds = 300;
/** A watch that ends sooner was refused in all but name. */
const ShortWatchMs = 1_000;
/** A list that was needed so rarely is no storm. */
const RareListMs = 60_000;
/** Lines that cannot be read, without one between them that can, after which all is listed anew. */
const MaxBadLines = 3;

/** Failures of a watch after which its resource version still holds. */
const keepsVersion: ReadonlySet<KubeErrorCode> = new Set<KubeErrorCode>([
  'Unavailable',
  'TooManyRequests',
  'Timeout',
  'Internal',
  'BadResponse',
  'Unauthorized',
  'Forbidden',
]);

/** Answers to a streaming list for which another way is tried. An etcd before 3.5 makes the server answer Internal. */
const noStreamingList: ReadonlySet<KubeErrorCode> = new Set<KubeErrorCode>(['Invalid', 'BadRequest', 'MethodNotAllowed', 'Internal']);

/**
 * Keeps a copy of what the API server has: list, then watch from there, for ever. Whatever breaks, the copy catches up,
 * by the watch's resource version where that still holds and by a list where not; each change is told once, deletions
 * that happened in between included. Requests that fail are spaced by `RetryBackoff`.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #store = new ObjectStore<T>();
  readonly #backoff: RetryBackoff;
  readonly #synced = Promise.withResolvers<void>();
  readonly #waiters = new Set<() => void>();
  readonly counts: ReflectorCounts = { requests: 0, lists: 0, watches: 0, waits: 0, silences: 0 };
  #version = '';
  #listed = false;
  #hasSynced = false;
  /** The server has not, or no longer, what we know: the next list takes whatever is newest. */
  #versionRefused = false;
  #streaming: boolean;
  #badLines = 0;
  #fault: KubeError | undefined;
  #changes = 0;
  #listedAt = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = new RetryBackoff(options.clock, options.random);
    this.#streaming = options.streamingList ?? true;
  }

  /** By `namespace/name`; not to be modified. */
  get objects(): ReadonlyMap<string, T> {
    return this.#store.objects;
  }

  /** The first list has been taken. */
  get synced(): boolean {
    return this.#hasSynced;
  }

  /** What the copy stands for; empty before the first list. */
  get resourceVersion(): string {
    return this.#version;
  }

  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  health(): Health {
    if (!this.#fault) return { ok: true };
    return { ok: false, reason: `watching ${this.#options.path}: ${this.#fault.message}` };
  }

  /** All objects, at first when they are known and then after every change; changes that come together count as one. */
  async *states(signal: AbortSignal): AsyncGenerator<readonly T[]> {
    let seen = -1;
    while (!signal.aborted) {
      if (this.#hasSynced && seen !== this.#changes) {
        seen = this.#changes;
        yield [...this.objects.values()];
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => resolve();
      this.#waiters.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      await promise;
      signal.removeEventListener('abort', wake);
      this.#waiters.delete(wake);
    }
  }

  /** Works until `signal` aborts, then resolves; rejects only for a fault of the program itself. To be called once. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (!this.#listed && !this.#streaming) await this.#list(signal);
        await this.#watch(signal);
        this.#fault = undefined;
      } catch (err) {
        if (signal.aborted) return;
        const wait = this.#failed(err);
        if (wait <= 0) continue;
        this.counts.waits++;
        await this.#options.clock.sleep(wait, signal).catch(() => {});
      }
    }
  }

  /** Decides what a failure means; milliseconds to wait. */
  #failed(err: unknown): number {
    const { log, path } = this.#options;
    // Anything else is a fault of ours, which must not go on in silence.
    if (!isKubeError(err)) throw err;
    this.#fault = err;
    const { code, status } = err;
    if (!this.#listed && this.#streaming && noStreamingList.has(code)) {
      log.debug(2, 'The server does not take streaming lists, listing in pages', { path });
      this.#streaming = false;
      return 0;
    }
    if (err.causes.includes('ResourceVersionTooLarge') || (code === 'Gone' && !this.#listed)) {
      const again = !this.#versionRefused;
      this.#versionRefused = true;
      this.#listed = false;
      // The version is what was wrong: the next request is another one. Not so the second time.
      if (again) return 0;
    } else if (!keepsVersion.has(code)) {
      this.#listed = false;
      // A version that has grown old is no failure of the server: only the jitter is due, not what failures before it earned.
      if (code === 'Gone' && this.#options.clock.monotonic() - this.#listedAt > RareListMs) return this.#backoff.short();
    } else if (code === 'BadResponse' && ++this.#badLines >= MaxBadLines) {
      this.#badLines = 0;
      this.#listed = false;
    }
    const wait = this.#backoff.next(err.retryAfterMs);
    log.info('Watching failed, will try again', { path, code, status, reason: err.message, delayMilliseconds: Math.round(wait) });
    return wait;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, path, fieldSelector, labelSelector, pageSize = 500 } = this.#options;
    this.counts.lists++;
    const { items, resourceVersion } = await listAll(api, {
      path,
      query: { fieldSelector, labelSelector },
      resourceVersion: this.#listVersion('0'),
      pageSize,
      timeoutMs: RequestTimeoutMs,
      signal,
      onRequest: () => this.counts.requests++,
    });
    this.#replace(items.filter(isKubeObject) as T[], resourceVersion);
  }

  /** A list must not be older than what we know, unless the server cannot give that. */
  #listVersion(first: string): string {
    if (this.#versionRefused) return '';
    return this.#version === '' ? first : this.#version;
  }

  /** One watch, from its request to its end. Returns when the next one may follow at once. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { api, clock, path, fieldSelector, labelSelector, random, log } = this.#options;
    const operation = `WATCH ${path}`;
    const initial = this.#listed ? undefined : new Map<string, T>();
    using silence = new Deadline(clock, signal, SilenceMs);
    const began = clock.monotonic();
    let opened = false;
    try {
      this.counts.requests++;
      this.counts.watches++;
      const stream = await api.stream({
        method: 'GET',
        path,
        query: {
          watch: true,
          fieldSelector,
          labelSelector,
          allowWatchBookmarks: true,
          timeoutSeconds: Math.floor(MinWatchSeconds * (1 + random.float())),
          resourceVersion: (initial ? this.#listVersion('') : this.#version) || undefined,
          ...(initial ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
        },
        signal: silence.signal,
        timeoutMs: RequestTimeoutMs,
        retry: false,
      });
      opened = true;
      if (initial) silence.restart(RequestTimeoutMs);
      await this.#consume(stream, operation, initial, silence);
    } catch (err) {
      if (!silence.expired) {
        // A connection that was cut is taken up again where it stood.
        const cut = opened && this.#listed && isKubeError(err, 'Unavailable') && err.status === 0;
        if (!cut || clock.monotonic() - began < ShortWatchMs) throw err;
        log.debug(2, 'The watch was cut', { path, reason: err.message });
        return;
      }
      this.counts.silences++;
      if (!this.#listed) {
        this.#streaming = false;
        throw new KubeError('Timeout', operation, 'the server began a streaming list and did not end it', { cause: err });
      }
      log.info('Nothing came from the watch, starting another', { path, seconds: SilenceMs / 1000 });
      return;
    }
    if (!this.#listed) throw new KubeError('Unavailable', operation, 'the streaming list ended before all objects came');
    if (clock.monotonic() - began < ShortWatchMs) throw new KubeError('Unavailable', operation, 'the server ended the watch at once');
  }

  async #consume(
    stream: AsyncIterable<unknown>,
    operation: string,
    initialObjects: Map<string, T> | undefined,
    silence: Deadline,
  ): Promise<void> {
    let initial = initialObjects;
    for await (const value of stream) {
      silence.restart();
      const event = watchEvent(value, operation);
      if (event?.type === 'ERROR') throw event.error;
      if (event === undefined) throw new KubeError('BadResponse', operation, 'an event of the watch makes no sense');
      this.#badLines = 0;
      this.#fault = undefined;
      if (event.type === 'BOOKMARK') {
        if (initial === undefined) this.#version = event.resourceVersion;
        else if (event.initialEventsEnd) {
          this.counts.lists++;
          this.#replace([...initial.values()], event.resourceVersion);
          initial = undefined;
          silence.restart(SilenceMs);
        }
        continue;
      }
      const object = slim(event.object) as T;
      if (initial) {
        if (event.type === 'DELETED') initial.delete(keyOf(object));
        else initial.set(keyOf(object), object);
        continue;
      }
      this.#tell(event.type === 'DELETED' ? this.#store.remove(object) : this.#store.upsert(object));
      this.#version = event.resourceVersion;
    }
  }

  #replace(objects: T[], version: string): void {
    const changes = this.#store.replace(objects.map((o) => slim(o) as T));
    this.#version = version;
    this.#versionRefused = false;
    this.#listed = true;
    this.#listedAt = this.#options.clock.monotonic();
    this.#fault = undefined;
    this.#tell(changes, !this.#hasSynced);
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  #tell(changes: readonly Change<T>[], always = false): void {
    if (changes.length === 0 && !always) return;
    this.#changes++;
    for (const change of changes) this.#options.onChange?.(change);
    for (const wake of this.#waiters) wake();
  }
}

/** The record of who wrote which field is a large part of an object, and no concern of a node's. */
function slim(object: KubeObject): KubeObject {
  delete (object.metadata as Record<string, unknown>)['managedFields'];
  return object;
}
