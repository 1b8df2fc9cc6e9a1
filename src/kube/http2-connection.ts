import { type ClientHttp2Session, type ClientHttp2Stream, constants, connect as http2Connect, type IncomingHttpHeaders } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Connection } from './node-transport.ts';
import { TransportError, type TransportRequest, type TransportResponse } from './transport.ts';

/** As Go's client: after so long without a frame the server is asked for a sign of life, which it must give in time. */
const ReadIdleMs = 30_000;
const PingTimeoutMs = 15_000;
/** Before the server has told its own limit. */
const DefaultMaxStreams = 100;

/** One HTTP/2 session. A peer that falls silent is found by ping, at the latest 45 s after its last byte. */
export class Http2Connection implements Connection {
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #watches = new Set<ClientHttp2Stream>();
  #streams = 0;
  #answered = false;
  #retired = false;
  #heardAt: number;
  #health: Timer;

  /** Over a socket that has done its handshake; `onEnd` is called once it takes no more requests. */
  constructor(server: URL, socket: TLSSocket, clock: Clock, log: Logger, onEnd: () => void) {
    this.#clock = clock;
    this.#log = log;
    this.#session = http2Connect(server, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: 1 << 20 },
      // Megabytes: the default of 10 ends sessions that carry the lists of a full node.
      maxSessionMemory: 128,
    });
    this.#session.setLocalWindowSize(1 << 24);
    this.#session.on('error', (err: Error) => log.debug(4, 'The connection to the API server failed', { reason: err.message }));
    const end = () => {
      this.#retired = true;
      onEnd();
    };
    this.#session.once('goaway', end);
    this.#session.once('close', () => {
      this.#health.cancel();
      end();
    });
    this.#heardAt = clock.monotonic();
    this.#health = clock.after(ReadIdleMs, () => this.#checkHealth(), true);
  }

  get usable(): boolean {
    const max = this.#session.remoteSettings?.maxConcurrentStreams ?? DefaultMaxStreams;
    return !this.#retired && !this.#session.closed && !this.#session.destroyed && this.#streams < max;
  }

  get proven(): boolean {
    return this.#answered;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const { method, path, headers, body, signal, lasting } = request;
    signal.throwIfAborted();
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({ ...headers, ':method': method, ':path': path }, { endStream: body === undefined });
    } catch (err) {
      throw new TransportError(err instanceof Error ? err.message : String(err), true, err);
    }
    this.#streams++;
    if (lasting) this.#watches.add(stream);
    const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
    signal.addEventListener('abort', onAbort, { once: true });
    stream.once('close', () => {
      this.#streams--;
      this.#watches.delete(stream);
      signal.removeEventListener('abort', onAbort);
    });
    // An error after the answer began is told to who reads the body; without a listener it would end the process.
    stream.on('error', () => {});
    if (body !== undefined) stream.end(body);
    const answer = await this.#headers(stream, signal);
    this.#answered = true;
    this.#heard();
    return { status: Number(answer[':status']), headers: plain(answer), body: this.#body(stream, signal) };
  }

  retire(): void {
    this.#retired = true;
    for (const stream of this.#watches) stream.destroy(new TransportError('the credentials of the connection were replaced', false));
    this.#session.close();
  }

  destroy(): void {
    this.#retired = true;
    this.#session.destroy();
  }

  #headers(stream: ClientHttp2Stream, signal: AbortSignal): Promise<IncomingHttpHeaders> {
    return new Promise((resolve, reject) => {
      stream.once('response', resolve);
      stream.once('close', () => {
        if (signal.aborted) reject(signal.reason as Error);
        else reject(new TransportError(closeReason(stream), stream.rstCode === constants.NGHTTP2_REFUSED_STREAM, stream.errored));
      });
    });
  }

  async *#body(stream: ClientHttp2Stream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of stream) {
        this.#heard();
        yield chunk as Uint8Array;
      }
    } catch (err) {
      if (signal.aborted) throw signal.reason;
      throw err instanceof TransportError ? err : new TransportError(closeReason(stream), false, err);
    }
    if (signal.aborted) throw signal.reason;
    // A reset by the peer looks like an end to who only reads.
    if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw new TransportError(closeReason(stream), false);
  }

  #heard(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  #checkHealth(): void {
    if (this.#session.destroyed) return;
    const left = ReadIdleMs - (this.#clock.monotonic() - this.#heardAt);
    if (left > 0) {
      this.#health = this.#clock.after(left, () => this.#checkHealth(), true);
      return;
    }
    this.#health = this.#clock.after(
      PingTimeoutMs,
      () => {
        this.#log.info('The API server gives no sign of life, closing the connection', { pingTimeoutSeconds: PingTimeoutMs / 1000 });
        this.#session.destroy(new TransportError('client connection lost: no answer to a ping', false));
      },
      true,
    );
    this.#session.ping((err) => {
      if (err) return;
      this.#health.cancel();
      this.#heard();
      this.#health = this.#clock.after(ReadIdleMs, () => this.#checkHealth(), true);
    });
  }
}

function closeReason(stream: ClientHttp2Stream): string {
  if (stream.errored) return stream.errored.message;
  return `the connection was closed (HTTP/2 code ${stream.rstCode ?? 'none'})`;
}

function plain(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return { 'retry-after': headers['retry-after'], 'content-type': headers['content-type'], 'audit-id': text(headers['audit-id']) };
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
