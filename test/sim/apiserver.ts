import type { Clock } from '../../src/host/clock.ts';
import type { Random } from '../../src/host/random.ts';
import { type KubeTransport, TransportError, type TransportRequest, type TransportResponse } from '../../src/kube/transport.ts';
import { isObject, type Json, type JsonObject, jsonMergePatch, strategicMergePatch } from './apiserver-patch.ts';
import { SimStore, type StoredObject, type StoreEvent, selector } from './apiserver-store.ts';
import { SimWatch } from './apiserver-watch.ts';

export interface SimApiServerOptions {
  clock: Clock;
  random: Random;
  /** Writes that can be watched from. */
  window?: number;
  /** From a write to its event, and of each request. Milliseconds. */
  latencyMs?: number;
  /** Milliseconds; 0: no bookmarks. */
  bookmarkMs?: number;
  /** Takes `sendInitialEvents`. */
  streamingList?: boolean;
}

/** A request as the server saw it. */
export interface SeenRequest {
  /** Monotonic milliseconds. */
  at: number;
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string>>;
  body: Json | undefined;
  /** 0: no answer. */
  status: number;
}

/** What goes wrong with a request. */
export type RequestFault =
  | { status: number; reason?: string; message?: string; retryAfterSeconds?: number; causes?: string[] }
  /** The connection breaks before an answer; `acted`: after the server has done what was asked. */
  | { cut: true; acted?: boolean }
  /** The answer comes so much later. */
  | { delayMs: number }
  /** Of the answer only so many bytes come, then the connection breaks. */
  | { cutBodyAt: number }
  /** No answer, ever. */
  | { hang: true };

/** Asked for each request, newest first; undefined: nothing goes wrong. */
export type FaultRule = (request: SeenRequest) => RequestFault | undefined;

class Refusal extends Error {
  readonly fault: { status: number; reason: string; message: string; retryAfterSeconds?: number; causes?: string[] };
  constructor(status: number, reason: string, message: string, causes: string[] = []) {
    super(message);
    this.fault = { status, reason, message, causes };
  }
}

interface Target {
  /** Of the collection, without namespace: `/api/v1/pods`. */
  collection: string;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string | undefined;
}

const encoder = new TextEncoder();

/**
 * An API server in the process: any kind of object, lists in pages, watches with bookmarks and a window, patches,
 * preconditions, graceful deletion of pods, and faults by rule. It answers in virtual time; nothing is random that
 * `random` does not give.
 */
export class SimApiServer implements KubeTransport {
  readonly store: SimStore;
  readonly requests: SeenRequest[] = [];
  readonly faults: FaultRule[] = [];
  /** Namespaces in which nothing can be created. */
  readonly terminating = new Set<string>();
  readonly #options: Required<SimApiServerOptions>;
  readonly #watches = new Set<SimWatch>();
  readonly #continues = new Map<string, { rest: StoredObject[]; version: number }>();
  #down = false;

  constructor(options: SimApiServerOptions) {
    this.#options = { window: 100, latencyMs: 2, bookmarkMs: 60_000, streamingList: true, ...options };
    this.store = new SimStore(this.#options.window, (path, event) => this.#written(path, event));
  }

  /** Open watches of a collection, or all. */
  watches(path?: string): SimWatch[] {
    return [...this.#watches].filter((w) => path === undefined || w.path === path);
  }

  /** Breaks every connection and refuses new ones until `start`. */
  stop(): void {
    this.#down = true;
    for (const watch of this.watches()) watch.cut();
  }

  start(options: { loseCache?: boolean } = {}): void {
    this.#down = false;
    if (options.loseCache) this.store.loseCache();
  }

  /** Lists that are under way cannot be continued. */
  expireContinues(): void {
    this.#continues.clear();
  }

  close(): void {
    for (const watch of this.watches()) watch.cut();
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const { clock, latencyMs } = this.#options;
    request.signal.throwIfAborted();
    if (this.#down) throw new TransportError('connect ECONNREFUSED', true);
    const url = new URL(request.path, 'http://sim');
    const seen: SeenRequest = {
      at: clock.monotonic(),
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: request.body === undefined ? undefined : (JSON.parse(request.body) as Json),
      status: 0,
    };
    this.requests.push(seen);
    let fault: RequestFault | undefined;
    for (const rule of this.faults.toReversed()) fault ??= rule(seen);
    if (fault && 'hang' in fault) await clock.sleep(2 ** 31 - 1, request.signal);
    if (fault && 'delayMs' in fault) await clock.sleep(fault.delayMs, request.signal);
    else if (latencyMs > 0) await clock.sleep(latencyMs, request.signal);
    if (this.#down || (fault && 'cut' in fault && !fault.acted)) throw new TransportError('connection reset by peer', false);
    const answer = fault && 'status' in fault ? failure(fault) : this.#answer(seen, request.signal);
    seen.status = answer.status;
    if (fault && 'cut' in fault) throw new TransportError('connection reset by peer', false);
    return fault && 'cutBodyAt' in fault ? { ...answer, body: cutAt(answer.body, fault.cutBodyAt) } : answer;
  }

  #answer(request: SeenRequest, signal: AbortSignal): TransportResponse {
    try {
      const target = targetOf(request.path);
      if (request.method === 'GET' && request.query.get('watch') === 'true') return this.#watch(target, request.query, signal);
      switch (request.method) {
        case 'GET':
          return json(200, target.name === undefined ? this.#list(target, request.query) : this.#existing(target));
        case 'POST':
          return json(201, this.#create(target, request.body));
        case 'PUT':
          return json(200, this.#update(target, request.body));
        case 'PATCH':
          return json(200, this.#patch(target, request.body, request.headers['content-type'] ?? ''));
        default:
          return json(200, this.#delete(target, request.body));
      }
    } catch (err) {
      if (err instanceof Refusal) return failure(err.fault);
      throw err;
    }
  }

  #existing({ collection, namespace, name = '' }: Target): StoredObject {
    const found = this.store.get(collection, keyOf(namespace, name));
    if (!found) throw new Refusal(404, 'NotFound', `${kindOf(collection)} "${name}" not found`);
    return found;
  }

  #list({ collection, namespace }: Target, query: URLSearchParams): Json {
    this.#checkVersion(query.get('resourceVersion') ?? '');
    const token = query.get('continue') ?? '';
    const limit = Number(query.get('limit') ?? 0);
    let version = this.store.version;
    let items: StoredObject[];
    if (token === '') {
      const matches = selector(namespace, query.get('fieldSelector') ?? '', query.get('labelSelector') ?? '');
      items = [...this.store.collection(collection).objects]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([, object]) => object)
        .filter(matches);
    } else {
      const kept = this.#continues.get(token);
      if (!kept) throw new Refusal(410, 'Expired', 'The provided continue parameter is too old to display a consistent list result.');
      items = kept.rest;
      version = kept.version;
    }
    const metadata: JsonObject = { resourceVersion: String(version) };
    if (limit > 0 && items.length > limit) {
      const next = this.#options.random.hex(8);
      this.#continues.set(next, { rest: structuredClone(items.slice(limit)), version });
      metadata['continue'] = next;
      items = items.slice(0, limit);
    }
    return { kind: 'List', apiVersion: 'v1', metadata, items };
  }

  #checkVersion(text: string): void {
    if (Number(text || '0') <= this.store.version) return;
    throw new Refusal(504, 'Timeout', `Too large resource version: ${text}, current: ${this.store.version}`, ['ResourceVersionTooLarge']);
  }

  #watch({ collection: path, namespace }: Target, query: URLSearchParams, signal: AbortSignal): TransportResponse {
    const { clock, bookmarkMs, streamingList } = this.#options;
    const initial = query.get('sendInitialEvents') === 'true';
    if (initial && !streamingList) throw new Refusal(422, 'Invalid', 'sendInitialEvents: Forbidden: is forbidden for watch');
    if (initial && query.get('resourceVersionMatch') !== 'NotOlderThan')
      throw new Refusal(422, 'Invalid', 'resourceVersionMatch: required');
    const from = query.get('resourceVersion') ?? '';
    this.#checkVersion(from);
    const collection = this.store.collection(path);
    const matches = selector(namespace, query.get('fieldSelector') ?? '', query.get('labelSelector') ?? '');
    const timers = [clock.after(Number(query.get('timeoutSeconds') ?? 1800) * 1000, () => watch.end())];
    const onAbort = () => watch.abort(signal.reason as Error);
    const watch: SimWatch = new SimWatch(path, matches, () => {
      this.#watches.delete(watch);
      for (const timer of timers) timer.cancel();
      signal.removeEventListener('abort', onAbort);
    });
    this.#watches.add(watch);
    signal.addEventListener('abort', onAbort, { once: true });
    const kind = kindOf(path);
    const bookmark = (annotations?: JsonObject) => {
      const metadata: JsonObject = { resourceVersion: String(this.store.version), ...(annotations ? { annotations } : {}) };
      watch.line({ type: 'BOOKMARK', object: { kind, metadata } });
    };
    if (initial || from === '' || from === '0') {
      for (const object of collection.objects.values()) if (matches(object)) watch.line({ type: 'ADDED', object });
      if (initial) bookmark({ 'k8s.io/initial-events-end': 'true' });
    } else if (Number(from) < collection.oldest) {
      watch.error(410, 'Expired', `too old resource version: ${from} (${collection.oldest})`);
    } else for (const event of collection.log) if (event.version > Number(from)) watch.tell(event);
    const again = () => {
      bookmark();
      timers[1] = clock.after(bookmarkMs, again);
    };
    if (watch.open && bookmarkMs > 0 && query.get('allowWatchBookmarks') === 'true') timers[1] = clock.after(bookmarkMs, again);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: watch };
  }

  #written(path: string, event: StoreEvent): void {
    const { clock, latencyMs } = this.#options;
    for (const watch of this.watches(path)) {
      if (latencyMs > 0) clock.after(latencyMs, () => watch.tell(event));
      else watch.tell(event);
    }
  }

  #create(target: Target, body: Json | undefined): Json {
    const { collection, namespace, subresource } = target;
    if (!isObject(body)) throw new Refusal(400, 'BadRequest', 'no object');
    // Reviews and token requests keep nothing; who wants an answer of content gives it by a rule.
    if (subresource !== undefined || /reviews$/.test(collection)) return { ...body, status: body['status'] ?? {} };
    if (namespace !== undefined && this.terminating.has(namespace)) {
      throw new Refusal(403, 'Forbidden', `namespace ${namespace} is being terminated`, ['NamespaceTerminating']);
    }
    const metadata = isObject(body['metadata']) ? body['metadata'] : {};
    const name = metadata['name'] ?? `${String(metadata['generateName'])}${this.#options.random.hex(3)}`;
    const key = keyOf(namespace, String(name));
    if (this.store.get(collection, key)) throw new Refusal(409, 'AlreadyExists', `${kindOf(collection)} "${String(name)}" already exists`);
    return this.store.put(collection, key, {
      ...body,
      metadata: {
        ...metadata,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid: metadata['uid'] ?? this.#options.random.hex(16),
        generation: 1,
        creationTimestamp: this.#iso(0),
      },
      ...(collection === '/api/v1/pods' ? { status: { phase: 'Pending' } } : {}),
    });
  }

  #update(target: Target, body: Json | undefined): Json {
    const old = this.#existing(target);
    if (!isObject(body) || !isObject(body['metadata'])) throw new Refusal(400, 'BadRequest', 'no object');
    this.#checkPreconditions(old, body['metadata']);
    return this.store.put(target.collection, keyOf(target.namespace, target.name ?? ''), {
      ...body,
      metadata: { ...body['metadata'], uid: old.metadata['uid'] ?? '' },
    });
  }

  #patch(target: Target, body: Json | undefined, contentType: string): Json {
    const old = this.#existing(target);
    if (!isObject(body)) throw new Refusal(400, 'BadRequest', 'no patch');
    if (isObject(body['metadata'])) this.#checkPreconditions(old, body['metadata']);
    const merge = contentType.startsWith('application/merge-patch') ? jsonMergePatch : strategicMergePatch;
    const merged = merge(old, body) as StoredObject;
    const next: StoredObject =
      target.subresource === 'status'
        ? // The subresource takes labels and annotations, too.
          { ...old, metadata: merged.metadata, status: merged['status'] ?? {} }
        : { ...merged, ...(old['status'] === undefined ? {} : { status: old['status'] }) };
    // Nothing written, nothing told: as the real server.
    if (JSON.stringify(next) === JSON.stringify(old)) return old;
    return this.store.put(target.collection, keyOf(target.namespace, target.name ?? ''), next);
  }

  #checkPreconditions(old: StoredObject, metadata: JsonObject): void {
    for (const field of ['uid', 'resourceVersion']) {
      const wanted = metadata[field];
      if (wanted === undefined || wanted === null || wanted === '' || wanted === old.metadata[field]) continue;
      throw new Refusal(409, 'Conflict', `Precondition failed: ${field} is ${String(old.metadata[field])}, not ${JSON.stringify(wanted)}`);
    }
  }

  #delete(target: Target, options: Json | undefined): Json {
    const { collection, namespace, name = '' } = target;
    const old = this.#existing(target);
    const wanted = isObject(options) ? options : {};
    if (isObject(wanted['preconditions'])) this.#checkPreconditions(old, wanted['preconditions']);
    const key = keyOf(namespace, name);
    const spec = isObject(old['spec']) ? old['spec'] : {};
    if (collection === '/api/v1/pods' && spec['nodeName']) {
      const grace = Number(wanted['gracePeriodSeconds'] ?? spec['terminationGracePeriodSeconds'] ?? 30);
      if (grace > 0) {
        const metadata = { ...old.metadata, deletionTimestamp: this.#iso(grace * 1000), deletionGracePeriodSeconds: grace };
        return this.store.put(collection, key, { ...old, metadata });
      }
    }
    return this.store.remove(collection, key) ?? old;
  }

  #iso(inMs: number): string {
    return `${new Date(this.#options.clock.now() + inMs).toISOString().slice(0, 19)}Z`;
  }
}

/** The collection and object that a path names. */
function targetOf(path: string): Target {
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  const base = `/${parts.splice(0, parts[0] === 'api' ? 2 : 3).join('/')}`;
  const namespaced = parts[0] === 'namespaces' && parts.length > 2;
  const [, namespace] = namespaced ? parts.splice(0, 2) : [];
  const [resource = '', name, subresource] = parts;
  return { collection: `${base}/${resource}`, namespace, name, subresource };
}

function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function kindOf(collection: string): string {
  return collection.slice(collection.lastIndexOf('/') + 1);
}

function json(status: number, value: Json): TransportResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: bytes(JSON.stringify(value)) };
}

function failure(fault: {
  status: number;
  reason?: string;
  message?: string;
  retryAfterSeconds?: number;
  causes?: string[];
}): TransportResponse {
  const { status, reason = '', message = '', retryAfterSeconds, causes = [] } = fault;
  const details = { causes: causes.map((cause) => ({ reason: cause })) };
  const answer = json(status, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, reason, message, details });
  return retryAfterSeconds === undefined ? answer : { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } };
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield encoder.encode(text);
}

async function* cutAt(body: AsyncIterable<Uint8Array>, at: number): AsyncGenerator<Uint8Array> {
  let left = at;
  for await (const chunk of body) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) throw new TransportError('connection reset by peer', false);
  }
}
