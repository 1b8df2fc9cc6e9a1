import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/**
 * Serves a folder of `ImageStore` read-only by the registry protocol (OCI distribution-spec), as a mirror: containerd names
 * the registry that it stands in for in the query `ns`.
 */
export function serveRegistry(store: string, port: number): Promise<Server> {
  const tags = new Map(Object.entries(JSON.parse(readFileSync(join(store, 'tags.json'), 'utf8')) as Record<string, string>));
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://registry');
    const refuse = (code: string) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ errors: [{ code }] }));
    };
    if (url.pathname === '/v2/') return void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const found = /^\/v2\/(.+)\/(manifests|blobs)\/([a-zA-Z0-9._:-]+)$/.exec(url.pathname);
    if (found === null || !['GET', 'HEAD'].includes(request.method ?? '')) return refuse('NAME_UNKNOWN');
    const [, name, kind, reference = ''] = found;
    const digest = reference.startsWith('sha256:') ? reference : tags.get(`${url.searchParams.get('ns')}/${name}:${reference}`);
    const path = join(store, 'blobs', digest?.replace('sha256:', '') ?? '');
    if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest) || !existsSync(path))
      return refuse(kind === 'manifests' ? 'MANIFEST_UNKNOWN' : 'BLOB_UNKNOWN');
    response.writeHead(200, {
      'content-type': kind === 'manifests' ? MANIFEST : 'application/octet-stream',
      'content-length': statSync(path).size,
      'docker-content-digest': digest,
    });
    if (request.method === 'HEAD') response.end();
    else createReadStream(path).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
