import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { KubeTransport, TransportRequest } from '../../src/kube/transport.ts';

/** PEM. With `ca`, clients must prove who they are. */
export interface ListenerTls {
  cert: Buffer;
  key: Buffer;
  ca?: Buffer;
  /** Without HTTP/2. */
  http1Only?: boolean;
  /** Of one HTTP/2 connection. */
  maxStreams?: number;
}

type Request = IncomingMessage | Http2ServerRequest;
type Server = ReturnType<typeof createServer> | ReturnType<typeof createSecureServer> | ReturnType<typeof createHttpsServer>;
type Response = ServerResponse | Http2ServerResponse;

/** A simulated API server on a loopback port, over real connections. */
export class ApiListener implements AsyncDisposable {
  readonly sockets = new Set<Socket>();
  readonly sessions = new Set<ServerHttp2Session>();
  /** Connections taken so far. */
  connections = 0;
  /** Common name of the client's certificate, and protocol version, of each request. */
  readonly clients: { name: string | undefined; version: string }[] = [];
  #server: Server | undefined;
  url = '';

  static async start(api: KubeTransport, tls?: ListenerTls): Promise<ApiListener> {
    const listener = new ApiListener();
    const handle = (request: Request, response: Response) => void listener.#handle(api, request, response);
    let server: Server;
    if (!tls) server = createServer(handle);
    else {
      const options = { cert: tls.cert, key: tls.key, ...(tls.ca ? { ca: tls.ca, requestCert: true, rejectUnauthorized: true } : {}) };
      server = tls.http1Only
        ? createHttpsServer(options, handle)
        : createSecureServer({ ...options, settings: { maxConcurrentStreams: tls.maxStreams ?? 1000 } }, handle);
    }
    listener.#server = server;
    server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      listener.connections++;
      listener.sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => listener.sockets.delete(socket));
    });
    server.on('session', (session: ServerHttp2Session) => {
      listener.sessions.add(session);
      session.once('close', () => listener.sessions.delete(session));
    });
    server.on('sessionError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    listener.url = `${tls ? 'https' : 'http'}://localhost:${(server.address() as AddressInfo).port}`;
    return listener;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Asks HTTP/2 clients to go elsewhere with new requests, as a server does before it stops. */
  goAway(): void {
    for (const session of this.sessions) session.goaway(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server?.close(() => resolve()));
    this.cut();
    await closed;
  }

  async #handle(api: KubeTransport, request: Request, response: Response): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the client went away')));
    response.on('error', () => {});
    const socket = request.socket as TLSSocket;
    const subject = typeof socket.getPeerCertificate === 'function' ? socket.getPeerCertificate()?.subject : undefined;
    this.clients.push({ name: subject?.CN as string | undefined, version: request.httpVersion });
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const answer = await api.send({
        method: request.method as TransportRequest['method'],
        path: request.url ?? '/',
        headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])),
        ...(chunks.length > 0 ? { body: Buffer.concat(chunks).toString('utf8') } : {}),
        signal: gone.signal,
        lasting: false,
      });
      const headers = Object.fromEntries(Object.entries(answer.headers).filter(([, v]) => v !== undefined)) as Record<string, string>;
      (response as ServerResponse).writeHead(answer.status, headers);
      // A watch answers before its first event.
      if ('flushHeaders' in response) response.flushHeaders();
      for await (const chunk of answer.body) (response as ServerResponse).write(chunk);
      response.end();
    } catch {
      if ('stream' in response) response.stream.close(8);
      else response.destroy();
    }
  }
}
