import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { KubeApi, KubeCall } from './api.ts';
import { Deadline } from './deadline.ts';
import { KubeError, kubeErrorFrom } from './errors.ts';
import { splitLines } from './json-lines.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { type KubeTransport, TransportError, type TransportResponse } from './transport.ts';

/** Times that a request is sent again when the server names the time, as client-go. */
const MaxRetries = 10;
/** A server that wants more patience than this gets its error passed on to who asked. */
const MaxRetryAfterMs = 60_000;
const MaxBodyBytes = 128 * 1024 * 1024;
const MaxErrorBytes = 1024 * 1024;

/** What proves who we are, apart from the connection's certificate. */
export interface AuthHeaders {
  /** Headers such as `authorization`; may run a plug-in or read a file. */
  headers(signal: AbortSignal): Promise<Record<string, string>>;
  /** The server did not know us (401). True when the next `headers` may differ, so that one more try makes sense. */
  rejected(): boolean;
}

export interface KubeClientDeps {
  transport: KubeTransport;
  auth: AuthHeaders;
  limiter: RateLimiter;
  clock: Clock;
  log: Logger;
  /** As `userAgent` gives it. */
  userAgent: string;
  /** For every call without its own: the heartbeat client's limit. Milliseconds, 0 none. */
  timeoutMs?: number;
  /** Each request sent: metrics rest_client_requests_total and its like. `code` is the status, or `<error>`. */
  onRequest?(method: string, code: string, seconds: number): void;
}

/** The User-Agent of a kubelet, as client-go forms it: `kubelet/v1.37.2 (linux/amd64) kubernetes/4cbc4f6`. */
export function userAgent(version: string, commit: string, component = 'kubelet'): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return `${component}/${version} (${process.platform}/${arch}) kubernetes/${commit === '' ? 'unknown' : commit.slice(0, 7)}`;
}

/**
 * JSON over a transport: deadlines, the limit of requests, credentials, errors with closed codes. Neither headers nor
 * bodies ever reach the log or an error.
 */
export class KubeClient implements KubeApi {
  readonly #deps: KubeClientDeps;

  constructor(deps: KubeClientDeps) {
    this.#deps = deps;
  }

  async request<T>(call: KubeCall): Promise<T> {
    const { clock, timeoutMs = 0 } = this.#deps;
    using deadline = new Deadline(clock, call.signal, call.timeoutMs ?? timeoutMs);
    const operation = operationOf(call);
    try {
      const answer = await this.#answer(call, operation, deadline.signal, false);
      return parsed(operation, await readAll(answer.body, MaxBodyBytes, operation)) as T;
    } catch (err) {
      throw kubeError(err, operation, call.signal, deadline);
    }
  }

  async stream(call: KubeCall): Promise<AsyncIterable<unknown>> {
    const deadline = new Deadline(this.#deps.clock, call.signal, call.timeoutMs ?? 0);
    const operation = operationOf(call);
    try {
      const answer = await this.#answer(call, operation, deadline.signal, true);
      deadline.lift();
      return values(answer, operation, call.signal, deadline);
    } catch (err) {
      deadline[Symbol.dispose]();
      throw kubeError(err, operation, call.signal, deadline);
    }
  }

  /** An answer with a status of success. */
  async #answer(call: KubeCall, operation: string, signal: AbortSignal, lasting: boolean): Promise<TransportResponse> {
    const { auth, clock, limiter, log } = this.#deps;
    let reproved = false;
    for (let retries = 0; ; ) {
      if (!lasting || retries > 0) await limiter.take(signal);
      const answer = await this.#send(call, operation, signal, lasting);
      if (answer.status < 400) return answer;
      const text = await readAll(answer.body, MaxErrorBytes, operation).catch(() => '');
      const error = kubeErrorFrom(operation, answer.status, tryParse(text), retryAfterMs(answer));
      if (error.code === 'Unauthorized' && !reproved && auth.rejected()) {
        reproved = true;
        continue;
      }
      const wait = error.retryAfterMs;
      const again = answer.status === 429 || answer.status >= 500;
      if (call.retry === false || !again || wait === undefined || wait > MaxRetryAfterMs || retries >= MaxRetries) throw error;
      retries++;
      log.debug(4, 'Got a Retry-After response', { operation, status: answer.status, delaySeconds: wait / 1000, attempt: retries });
      await clock.sleep(wait, signal);
    }
  }

  async #send(call: KubeCall, operation: string, signal: AbortSignal, lasting: boolean): Promise<TransportResponse> {
    const { auth, clock, log, onRequest, transport } = this.#deps;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': this.#deps.userAgent,
      ...(await auth.headers(signal)),
    };
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    if (body !== undefined) headers['content-type'] = call.contentType ?? 'application/json';
    const began = clock.monotonic();
    const done = (code: string) => {
      const seconds = (clock.monotonic() - began) / 1000;
      onRequest?.(call.method, code, seconds);
      log.debug(6, 'Response', { operation, status: code, milliseconds: Math.round(seconds * 1000) });
    };
    try {
      const answer = await transport.send({ method: call.method, path: call.path + queryOf(call), headers, body, signal, lasting });
      done(String(answer.status));
      return answer;
    } catch (err) {
      done('<error>');
      throw err;
    }
  }
}

async function* values(
  answer: TransportResponse,
  operation: string,
  outer: AbortSignal | undefined,
  deadline: Deadline,
): AsyncGenerator<unknown> {
  try {
    for await (const { text, complete } of splitLines(answer.body)) {
      const value = tryParse(text);
      // A last line that is cut short is only the end of a connection.
      if (value === undefined && complete) throw new KubeError('BadResponse', operation, 'a line of the watch is no JSON');
      if (value === undefined) throw new KubeError('Unavailable', operation, 'the watch was cut within a line');
      yield value;
    }
  } catch (err) {
    throw kubeError(err, operation, outer, deadline);
  } finally {
    deadline[Symbol.dispose]();
  }
}

function kubeError(err: unknown, operation: string, outer: AbortSignal | undefined, deadline: Deadline): KubeError {
  if (outer?.aborted) return new KubeError('Canceled', operation, 'context canceled', { cause: outer.reason });
  if (deadline.expired) return new KubeError('Timeout', operation, 'context deadline exceeded');
  if (err instanceof KubeError) return err;
  if (err instanceof TransportError) return new KubeError('Unavailable', operation, err.message, { cause: err });
  if (err instanceof RangeError) return new KubeError('BadResponse', operation, err.message, { cause: err });
  return new KubeError('Unavailable', operation, err instanceof Error ? err.message : String(err), { cause: err });
}

function operationOf(call: KubeCall): string {
  return `${call.method} ${call.path}`;
}

function queryOf({ query = {} }: KubeCall): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

async function readAll(body: AsyncIterable<Uint8Array>, maxBytes: number, operation: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new KubeError('BadResponse', operation, `the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(operation: string, text: string): unknown {
  const value = tryParse(text);
  if (value === undefined) throw new KubeError('BadResponse', operation, 'the answer is no JSON, or was cut short');
  return value;
}

/** Undefined for a text that is no JSON: its content must not get into a message, as V8's own errors quote it. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Seconds only, as the API server sends it. */
function retryAfterMs({ headers }: TransportResponse): number | undefined {
  const text = headers['retry-after'];
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}
