import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { staticBusybox } from '../../scripts/images/exampleImages.ts';
import { tar } from '../../scripts/images/tar.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** A registry on loopback with one image, `{host}/private/app:1`, which says PULLED, for those who log in. */
export interface PrivateRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT`. */
  host: string;
  image: string;
  /** The users who tried, in order; '' for nobody. */
  readonly users: string[];
}

/** Serves it by the registry protocol (OCI distribution-spec) with HTTP's Basic authentication. */
export async function privateRegistry(login: { username: string; password: string }): Promise<PrivateRegistry> {
  const { tags, blobs } = await image();
  const expected = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const users: string[] = [];
  const server = createServer((request, response) => {
    const given = request.headers.authorization ?? '';
    const [, path = ''] = /^\/v2\/private\/app\/(?:manifests|blobs)\/([a-z0-9:.]+)$/.exec(request.url ?? '') ?? [];
    if (path === '1')
      users.push(
        Buffer.from(given.replace(/^Basic /, ''), 'base64')
          .toString()
          .split(':', 1)[0] ?? '',
      );
    if (given !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="private"' }).end();
      return;
    }
    const digest = tags.get(path) ?? path;
    const blob = blobs.get(digest);
    if (blob === undefined) {
      response.writeHead(request.url === '/v2/' ? 200 : 404).end();
      return;
    }
    response.writeHead(200, { 'content-type': blob.type, 'content-length': blob.data.length, 'docker-content-digest': digest });
    response.end(request.method === 'HEAD' ? undefined : blob.data);
  });
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(0, '127.0.0.1', done);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { host, image: `${host}/private/app:1`, users, [Symbol.asyncDispose]: close };
}

async function image(): Promise<{ tags: Map<string, string>; blobs: Map<string, { type: string; data: Buffer }> }> {
  const blobs = new Map<string, { type: string; data: Buffer }>();
  const put = (type: string, data: Buffer) => {
    const digest = `sha256:${createHash('sha256').update(data).digest('hex')}`;
    blobs.set(digest, { type, data });
    return { mediaType: type, digest, size: data.length };
  };
  const json = (type: string, value: unknown) => put(type, Buffer.from(JSON.stringify(value)));
  const busybox = await readFile(await staticBusybox());
  const layer = put('application/vnd.oci.image.layer.v1.tar', tar([{ kind: 'file', name: 'busybox', mode: 0o755, data: busybox }]));
  const config = json('application/vnd.oci.image.config.v1+json', {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Cmd: ['/busybox', 'sh', '-c', 'echo PULLED; exec /busybox sleep 3600'] },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const manifest = json(MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] });
  return { tags: new Map([['1', manifest.digest]]), blobs };
}
