import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ImageSource, imageParts, type Part } from './ociArchive.ts';

export interface RegistryOptions {
  /** By their references without a host: `private/app:1`. */
  images: readonly ImageSource[];
  /** Absent: everybody may pull. */
  login?: { username: string; password: string };
  /** How the login is asked for: with each request, or once for a token of this registry (distribution-spec). Default `basic`. */
  auth?: 'basic' | 'token';
  tls?: { cert: string; key: string };
  /** Looks at each request of one who may pull; true when it answers itself. `blob` is what was asked for. */
  answer?(request: IncomingMessage, response: ServerResponse, blob: Blob): boolean;
}

/** A manifest or a blob of the registry. */
export type Blob = Part;

/** A registry on loopback that serves images by the registry protocol (OCI distribution-spec, pull only). */
export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** Who tried to pull a manifest by its tag, in order; '' for nobody. */
  readonly users: string[];
  /** Connections that are open now. */
  connections(): Promise<number>;
}

const PATH = /^\/v2\/(.+)\/(?:manifests|blobs)\/([A-Za-z0-9_.:-]+)$/;

/** Starts it on a free port. */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  const { login, auth = 'basic', tls } = options;
  const contents = new Map<string, Blob>();
  for (const image of options.images) {
    const { manifest, blobs } = imageParts(image);
    for (const blob of [...blobs, manifest]) contents.set(blob.digest, blob);
    contents.set(image.reference, manifest);
  }
  const basic = login === undefined ? '' : `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const token = randomBytes(16).toString('hex');
  const users: string[] = [];
  let host = '';

  const listener: RequestListener = (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://registry');
    const given = request.headers.authorization ?? '';
    if (pathname === '/token') {
      // Clients try OAuth first; 404 says that it is not spoken here.
      if (request.method === 'POST') return void response.writeHead(404).end();
      users.push(userOf(given));
      if (given !== basic) return void response.writeHead(401).end();
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token, expires_in: 300 }));
    }
    const [, repository = '', name = ''] = PATH.exec(pathname) ?? [];
    const isTag = name !== '' && !name.includes(':');
    const scheme = tls === undefined ? 'http' : 'https';
    const wanted = auth === 'basic' ? basic : `Bearer ${token}`;
    const challenge =
      auth === 'basic'
        ? 'Basic realm="private"'
        : `Bearer realm="${scheme}://${host}/token",service="registry",scope="repository:${repository}:pull"`;
    if (login !== undefined && isTag && auth === 'basic') users.push(userOf(given));
    if (login !== undefined && given !== wanted) return void response.writeHead(401, { 'www-authenticate': challenge }).end();
    if (pathname === '/v2/') return void response.writeHead(200).end();
    const blob = contents.get(isTag ? `${repository}:${name}` : name);
    if (blob === undefined) return void response.writeHead(404).end();
    if (options.answer?.(request, response, blob) === true) return;
    serve(request, response, blob);
  };

  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(0, '127.0.0.1', done);
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  const connections = () =>
    new Promise<number>((done, fail) => server.getConnections((error, count) => (error === null ? done(count) : fail(error))));
  return { host, users, connections, [Symbol.asyncDispose]: close };
}

/** Answers as a registry does. */
export function serve(request: IncomingMessage, response: ServerResponse, { digest, mediaType, data }: Blob): void {
  response.writeHead(200, { 'content-type': mediaType, 'content-length': data.length, 'docker-content-digest': digest });
  response.end(request.method === 'HEAD' ? undefined : data);
}

const userOf = (authorization: string) =>
  Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':', 1)[0] ?? '';
