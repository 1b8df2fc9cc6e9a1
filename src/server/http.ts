import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { HttpError } from './errors.ts';

/** Answers one request. `path` is the decoded path without the query. */
export type Handler = (req: IncomingMessage, res: ServerResponse, url: URL) => Promise<void> | void;

export interface HttpServiceDeps {
  name: string;
  address: string;
  port: number;
  handle: Handler;
  clock: Clock;
  log: Logger;
  /** Listen again after a failure (contract http-api §1: every 5 s for the health port), or report it as final. */
  retryMs: number | undefined;
}

/** Contract http-api §1: limits of every listener, and of a client that sends slowly. */
const IDLE_TIMEOUT_MS = 90_000;
const HEADERS_TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 1 << 20;
const MAX_CONNECTIONS = 512;

/** A plain HTTP listener as a service of the agent. A request that throws is answered 500 and logged. */
export class HttpService implements Service {
  readonly name: string;
  readonly #deps: HttpServiceDeps;
  readonly #server: Server;
  readonly #pause: Pause;
  readonly #listening = Promise.withResolvers<void>();
  #failure: string | undefined = 'not listening yet';
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: HttpServiceDeps) {
    this.name = deps.name;
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: IDLE_TIMEOUT_MS, headersTimeout: HEADERS_TIMEOUT_MS },
      (req, res) => {
        void this.#answer(req, res);
      },
    );
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  start(signal: AbortSignal): void {
    this.#loop = this.#listen(signal);
  }

  ready(): Promise<void> {
    return this.#listening.promise;
  }

  health(): Health {
    return this.#failure === undefined ? { ok: true } : { ok: false, reason: this.#failure };
  }

  /** The port in use (also when 0 was asked for); undefined while not listening. */
  port(): number | undefined {
    return (this.#server.address() as AddressInfo | null)?.port;
  }

  async stop(): Promise<void> {
    await this.#loop;
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const { address, port, log, retryMs } = this.#deps;
    while (!signal.aborted) {
      try {
        await new Promise<void>((resolve, reject) => {
          this.#server.once('error', reject);
          this.#server.listen({ host: address, port, signal }, () => {
            this.#server.off('error', reject);
            resolve();
          });
        });
        this.#failure = undefined;
        this.#server.on('error', (err) => log.error(err, 'Server failed', { server: this.name }));
        this.#listening.resolve();
        log.info('Starting to listen', { server: this.name, address, port: this.port() });
        return;
      } catch (err) {
        this.#failure = `cannot listen on ${address}:${port}: ${err instanceof Error ? err.message : String(err)}`;
        log.error(err, 'Failed to listen', { server: this.name, address, port });
        if (retryMs === undefined) {
          this.#listening.reject(err);
          return;
        }
        await this.#pause.wait(retryMs, signal);
      }
    }
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await this.#deps.handle(req, res, new URL(req.url ?? '/', 'http://localhost'));
    } catch (err) {
      this.#deps.log.error(err, 'Request failed', { server: this.name, method: req.method });
      if (res.headersSent) res.destroy();
      else sendText(res, 500, 'Internal Server Error\n');
    }
  }
}

/** Throws HttpError 405 for a request by any other method. */
export function onlyMethods(req: Pick<IncomingMessage, 'method'>, methods: readonly string[]): void {
  if (!methods.includes(req.method ?? '')) throw new HttpError(405, '405: Method Not Allowed', { Allow: methods.join(', ') });
}

export function sendText(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
  res.end(text);
}

export function sendJson(res: ServerResponse, value: unknown): void {
  res.writeHead(200, { 'Content-Type': 'application/json' });
  res.end(JSON.stringify(value));
}
