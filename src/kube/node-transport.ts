import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection } from './http2-connection.ts';
import { type KubeTransport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts';

/** What a TLS connection is made with. A new object means that something changed. */
export interface TlsIdentity {
  /** PEM. Absent: the system's roots. */
  ca?: Buffer | undefined;
  cert?: Buffer | undefined;
  key?: Buffer | undefined;
  /** For SNI and the check of the server's certificate, instead of the host. */
  serverName?: string | undefined;
  /** Take any certificate (insecure-skip-tls-verify). */
  insecure: boolean;
}

/** One way to the server: an HTTP/2 connection, or a pool of HTTP/1.1 ones. */
export interface Connection {
  /** Takes one more request now. */
  readonly usable: boolean;
  /** Has answered before, so that a failure may only mean that it has grown old. */
  readonly proven: boolean;
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Ends watches at once and lets other requests finish. */
  retire(): void;
  /** Ends everything at once. */
  destroy(): void;
}

export interface NodeTransportDeps {
  server: URL;
  /** Called before each request: cheap when nothing changed. */
  identity(): Promise<TlsIdentity>;
  clock: Clock;
  log: Logger;
}

/** Go's limits: 30 s to dial and 10 s for TLS; both happen in here. */
const DialTimeoutMs = 30_000;
const Attempts = 3;

/**
 * The network. HTTP/2 over TLS where the server takes it, HTTP/1.1 with keep-alive otherwise. One HTTP/2 connection
 * carries everything until its limit of streams is reached. Connections made with replaced credentials are retired.
 */
export class NodeTransport implements KubeTransport {
  readonly #deps: NodeTransportDeps;
  #identity: TlsIdentity | undefined;
  #connections = new Set<Connection>();
  #dialing: Promise<Connection> | undefined;
  #closed = false;

  constructor(deps: NodeTransportDeps) {
    this.#deps = deps;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    for (let attempt = 1; ; attempt++) {
      request.signal.throwIfAborted();
      const connection = await this.#connection(request.signal);
      const { proven } = connection;
      try {
        return await connection.send(request);
      } catch (err) {
        // What the server has not seen is sent again; so is a read on a connection that was found closed.
        const again = err instanceof TransportError && (err.unsent || (proven && request.method === 'GET' && attempt === 1));
        if (!again || attempt >= Attempts || request.signal.aborted) throw err;
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.reconnect();
  }

  /** Ends every connection with what is under way on it: the next request makes a new one. */
  reconnect(): void {
    for (const connection of this.#connections) connection.destroy();
    this.#connections.clear();
  }

  async #connection(signal: AbortSignal): Promise<Connection> {
    const identity = await this.#deps.identity();
    if (identity !== this.#identity) {
      if (this.#identity) this.#deps.log.info('Credentials for the API server changed, closing connections');
      this.#identity = identity;
      this.#dialing = undefined;
      for (const connection of this.#connections) connection.retire();
      this.#connections.clear();
    }
    for (const connection of this.#connections) if (connection.usable) return connection;
    if (this.#closed) throw new TransportError('the client is closed', true);
    this.#dialing ??= this.#dial(identity);
    return abortable(this.#dialing, signal);
  }

  async #dial(identity: TlsIdentity): Promise<Connection> {
    let connection: Connection | undefined;
    try {
      connection = await this.#connect(identity);
    } finally {
      if (identity === this.#identity) this.#dialing = undefined;
    }
    if (this.#closed) {
      connection.destroy();
      throw new TransportError('the client is closed', true);
    }
    if (identity === this.#identity) this.#connections.add(connection);
    return connection;
  }

  async #connect(identity: TlsIdentity): Promise<Connection> {
    const { server, clock, log } = this.#deps;
    const keepAlive = { keepAlive: true, keepAliveMsecs: 30_000 };
    if (server.protocol === 'http:') return new Http1Connection(server, new HttpAgent(keepAlive));
    const options: ConnectionOptions = {
      ...(identity.ca ? { ca: identity.ca } : {}),
      ...(identity.cert ? { cert: identity.cert } : {}),
      ...(identity.key ? { key: identity.key } : {}),
      rejectUnauthorized: !identity.insecure,
      minVersion: 'TLSv1.2',
    };
    const host = server.hostname.replace(/^\[|\]$/g, '');
    const serverName = identity.serverName ?? (isIP(host) === 0 ? host : undefined);
    if (serverName !== undefined) options.servername = serverName;
    const socket = await handshake(clock, { ...options, host, port: Number(server.port || 443), ALPNProtocols: ['h2', 'http/1.1'] });
    if (socket.alpnProtocol === 'h2') {
      const connection: Http2Connection = new Http2Connection(server, socket, clock, log, () => this.#connections.delete(connection));
      return connection;
    }
    socket.destroy();
    log.debug(2, 'The API server does not speak HTTP/2', { server: server.host });
    return new Http1Connection(server, new HttpsAgent({ ...options, ...keepAlive }));
  }
}

function handshake(clock: Clock, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    let socket: TLSSocket;
    try {
      socket = tlsConnect(options);
    } catch (err) {
      // Such as a key that does not fit the certificate.
      reject(new TransportError(err instanceof Error ? err.message : String(err), true, err));
      return;
    }
    const timer = clock.after(DialTimeoutMs, () => socket.destroy(new Error('TLS handshake timeout')), true);
    const failed = (err: Error | undefined) => {
      timer.cancel();
      reject(new TransportError(err?.message ?? 'the connection was closed during the TLS handshake', true, err));
    };
    const closed = () => failed(undefined);
    socket.once('error', failed);
    socket.once('close', closed);
    socket.once('secureConnect', () => {
      timer.cancel();
      socket.off('error', failed);
      socket.off('close', closed);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 30_000);
      resolve(socket);
    });
  });
}

/** `promise`, or a rejection with the signal's reason; the work behind `promise` goes on for others. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
