import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { type HttpRequest, requestText } from './http-request.ts';
import { BadResponse, ResponseReader } from './http-response.ts';
import { dialError } from './network-error.ts';
import type { Due, Schedule } from './schedule.ts';

export interface HttpAnswer {
  status: number;
  /** The Location header; empty without one. */
  location: string;
  /** The beginning of the body. */
  body: string;
}

export interface ExchangeOptions {
  /** Milliseconds for all of it; 0 means no limit. */
  timeoutMs: number;
  /** Bytes of the body that are read. */
  bodyLimit: number;
  /** The head is enough for these: the body is then empty. */
  headOnly?(status: number, location: string): boolean;
  signal: AbortSignal;
}

/** The time was over. `inBody`: the head had arrived. */
export class HttpTimeout extends Error {
  override readonly name = 'HttpTimeout';
  readonly inBody: boolean;
  constructor(inBody: boolean) {
    super(
      `context deadline exceeded (Client.Timeout ${inBody ? 'or context cancellation while reading body' : 'exceeded while awaiting headers'})`,
    );
    this.inBody = inBody;
  }
}

/** A server that speaks plain HTTP where TLS was expected. */
export class PlainAnswer extends Error {
  override readonly name = 'PlainAnswer';
  constructor() {
    super('http: server gave HTTP response to HTTPS client');
  }
}

/** Where all plain sockets read into: what arrives is taken out before the next one reads. */
const sharedBuffer = Buffer.allocUnsafe(16 * 1024);
let secureContext: SecureContext | undefined;
/** What was sent before: a probe sends the same each time. */
const texts = new WeakMap<HttpRequest, string>();

/**
 * One request on a connection of its own: no keep-alive, no proxy, TLS not verified. A client of sockets, because a
 * thousand probes a second are too many for node:http. Rejects with HttpTimeout, PlainAnswer, the signal's reason, or
 * an Error in the words of Go's client.
 */
export function exchange(schedule: Schedule, request: HttpRequest, options: ExchangeOptions): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => new Exchange(schedule, request, options, resolve, reject).start());
}

class Exchange {
  readonly #schedule: Schedule;
  readonly #request: HttpRequest;
  readonly #options: ExchangeOptions;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (err: unknown) => void;
  readonly #reader: ResponseReader;
  #socket: Socket | undefined;
  #timeout: Due | undefined;
  #onAbort: (() => void) | undefined;
  #isOver = false;

  constructor(
    schedule: Schedule,
    request: HttpRequest,
    options: ExchangeOptions,
    resolve: (answer: HttpAnswer) => void,
    reject: (err: unknown) => void,
  ) {
    this.#schedule = schedule;
    this.#request = request;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#reader = new ResponseReader(options.bodyLimit);
  }

  start(): void {
    const { signal, timeoutMs } = this.#options;
    if (signal.aborted) {
      this.#reject(signal.reason);
      return;
    }
    let text: string;
    try {
      text = textOf(this.#request);
      this.#socket = this.#connect();
    } catch (err) {
      this.#reject(err);
      return;
    }
    const socket = this.#socket;
    if (timeoutMs > 0) this.#timeout = this.#schedule.after(timeoutMs, () => this.#fail(new HttpTimeout(this.#reader.headDone)));
    this.#onAbort = () => this.#fail(signal.reason);
    signal.addEventListener('abort', this.#onAbort);
    socket.on('error', (err) => this.#fail(this.#explained(err)));
    // Written before the connection stands: it goes out with the first packet.
    socket.write(text);
  }

  #connect(): Socket {
    const { scheme, hostname, port } = this.#request.target;
    if (scheme !== 'http' && scheme !== 'https') throw new Error(`unsupported protocol scheme "${scheme}"`);
    const host = hostname === '' ? 'localhost' : hostname;
    const plain = { host, port: port ?? (scheme === 'https' ? 443 : 80), autoSelectFamily: isIP(host) === 0 };
    if (scheme === 'http') {
      const callback = (count: number, buffer: Uint8Array) => {
        this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, count));
        return true;
      };
      const socket = connectTcp({ ...plain, onread: { buffer: sharedBuffer, callback } });
      socket.on('end', () => this.#ended());
      return socket;
    }
    secureContext ??= createSecureContext({});
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = connectTls({ ...plain, ...name, secureContext, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    socket.on('data', (piece: Buffer) => this.#take(piece));
    socket.on('end', () => this.#ended());
    return socket;
  }

  #take(piece: Buffer): void {
    if (this.#isOver) return;
    const reader = this.#reader;
    try {
      reader.push(piece);
    } catch (err) {
      this.#fail(transportError(err));
      return;
    }
    const isEnough = reader.headDone && this.#options.headOnly?.(reader.status, reader.location) === true;
    if (reader.done || isEnough) this.#succeed();
  }

  #ended(): void {
    if (this.#isOver) return;
    try {
      this.#reader.end();
    } catch (err) {
      this.#fail(transportError(err));
      return;
    }
    this.#succeed();
  }

  #succeed(): void {
    if (this.#isOver) return;
    const { status, location, body } = this.#reader;
    this.#resolve({ status, location, body });
    this.#finish();
  }

  #fail(err: unknown): void {
    if (this.#isOver) return;
    this.#reject(err);
    this.#finish();
  }

  #finish(): void {
    this.#isOver = true;
    this.#timeout?.cancel();
    if (this.#onAbort !== undefined) this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#socket?.destroy();
  }

  #explained(err: NodeJS.ErrnoException): Error {
    if (err.code === 'EPROTO' || err.code === 'ERR_SSL_WRONG_VERSION_NUMBER' || err.code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
      return err.message.includes('wrong version') || err.message.includes('packet length') ? new PlainAnswer() : err;
    }
    return dialError(err);
  }
}

function transportError(err: unknown): unknown {
  if (!(err instanceof BadResponse) || err.message.includes('EOF')) return err;
  return new Error(`net/http: HTTP/1.x transport connection broken: ${err.message}`, { cause: err });
}

function textOf(request: HttpRequest): string {
  let text = texts.get(request);
  if (text === undefined) {
    text = requestText(request);
    texts.set(request, text);
  }
  return text;
}
