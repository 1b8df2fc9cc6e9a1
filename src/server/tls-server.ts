import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { ConnectionLimits, type ConnectionLimitsOptions } from './connection-limits.ts';
import type { TlsMaterial } from './tls-material.ts';

/** What answers the requests of a TLS listener. Neither method may throw. */
export interface TlsRequests {
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  /** Whether a request that asks for an upgrade is to go to `upgrade` (else it is answered like any other). */
  upgrades(req: IncomingMessage): boolean;
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export interface TlsServerDeps {
  address: string;
  port: number;
  material: TlsMaterial;
  requests: TlsRequests;
  clock: Clock;
  log: Logger;
  limits?: ConnectionLimitsOptions;
}

/** Contract http-api §1; the times for headers and handshakes are ours. */
const IDLE_TIMEOUT_MS = 90_000;
const REQUEST_TIMEOUT_MS = 4 * 3_600_000;
const HEADERS_TIMEOUT_MS = 30_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 1 << 20;
/** How long requests under way may go on once the agent stops. */
const STOP_GRACE_MS = 1_000;

/** The kubelet's TLS port as a service: certificates that change, client certificates, limits of every kind. */
export class TlsServer implements Service {
  readonly name = 'server';
  readonly #deps: TlsServerDeps;
  readonly #limits: ConnectionLimits;
  readonly #sockets = new Set<Socket>();
  readonly #listening = Promise.withResolvers<void>();
  #server: Server | undefined;
  #failure: string | undefined = 'not listening yet';
  #caGeneration = 0;
  readonly #caOf = new WeakMap<object, number>();

  constructor(deps: TlsServerDeps) {
    this.#deps = deps;
    this.#limits = new ConnectionLimits(deps.limits);
    // A failure is told by start(); nobody may be waiting for ready().
    this.#listening.promise.catch(() => {});
  }

  /** Resolves once the port listens; rejects when it is taken or the certificate cannot be used. */
  async start(signal: AbortSignal): Promise<void> {
    const { address, port, material, log } = this.#deps;
    try {
      const options = await material.load();
      const server = createServer({
        ...options,
        requestCert: material.asksForClientCertificate,
        // Who shows no valid certificate may show a token instead.
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        keepAliveTimeout: IDLE_TIMEOUT_MS,
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        shouldUpgradeCallback: (req: IncomingMessage) => this.#deps.requests.upgrades(req),
      } as Parameters<typeof createServer>[0] & object);
      this.#server = server;
      this.#connect(server);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host: address === '' ? '::' : address, port, signal }, () => {
          server.off('error', reject);
          resolve();
        });
      });
      server.on('error', (err) => log.error(err, 'Server failed', { server: this.name }));
      material.watch((changed) => {
        this.#caGeneration += 1;
        server.setSecureContext(changed);
        server.closeIdleConnections();
      }, signal);
      this.#failure = undefined;
      this.#listening.resolve();
      log.info('Starting to listen', { server: this.name, address, port: this.port() });
    } catch (err) {
      this.#failure = `cannot listen on ${address}:${port}: ${err instanceof Error ? err.message : String(err)}`;
      this.#listening.reject(err);
      throw new Error(this.#failure, { cause: err });
    }
  }

  ready(): Promise<void> {
    return this.#listening.promise;
  }

  health(): Health {
    return this.#failure === undefined ? { ok: true } : { ok: false, reason: this.#failure };
  }

  /** The port in use (also when 0 was asked for); undefined while not listening. */
  port(): number | undefined {
    return (this.#server?.address() as AddressInfo | null | undefined)?.port;
  }

  /** The connection showed who it is: it no longer counts as a stranger's. */
  known(socket: Socket): void {
    this.#limits.known(socket);
  }

  /** Whether the client's certificate was checked against the CA that counts now. */
  checkedAgainstCurrentCa(socket: object): boolean {
    return (this.#caOf.get(socket) ?? 0) === this.#caGeneration;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    const timer = this.#deps.clock.after(STOP_GRACE_MS, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await closed;
    for (const socket of this.#sockets) socket.destroy();
    timer.cancel();
  }

  #connect(server: Server): void {
    const { requests, log } = this.#deps;
    server.on('connection', (socket: Socket) => {
      if (!this.#limits.admit(socket)) {
        log.debug(4, 'Too many connections, closing one', { remote: socket.remoteAddress, connections: this.#limits.total });
        socket.destroy();
        return;
      }
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.setNoDelay(true);
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#caOf.set(socket, this.#caGeneration);
    });
    server.on('tlsClientError', (err, socket) => {
      log.debug(4, 'TLS handshake failed', { remote: socket.remoteAddress, reason: err.message });
      socket.destroy();
    });
    server.on('clientError', (err: NodeJS.ErrnoException, socket: Duplex) => {
      if (!socket.writable || err.code === 'ECONNRESET') {
        socket.destroy();
        return;
      }
      const status = err.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
      socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`);
    });
    server.on('request', (req: IncomingMessage, res: ServerResponse) => void requests.handle(req, res));
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => void requests.upgrade(req, socket, head));
  }
}
