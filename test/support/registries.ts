import { readFile } from 'node:fs/promises';
import { staticBusybox } from '../../scripts/images/exampleImages.ts';
import type { ImageSource } from '../../scripts/images/ociArchive.ts';
import { type Blob, type Registry, type RegistryOptions, serve, startRegistry } from '../../scripts/images/registry.ts';
import { newAuthority } from '../e2e/cluster/pki.ts';

/** An image of one static busybox that runs `script`; `config` goes over its configuration. */
export async function shellImage(reference: string, script: string, config: ImageSource['config'] = {}): Promise<ImageSource> {
  const data = await readFile(await staticBusybox());
  return {
    reference,
    files: [
      { kind: 'file', name: 'busybox', mode: 0o755, data },
      { kind: 'folder', name: 'etc', mode: 0o755 },
      { kind: 'file', name: 'etc/passwd', mode: 0o644, data: Buffer.from('root:x:0:0:root:/root:/bin/sh\n') },
    ],
    config: { Cmd: ['/busybox', 'sh', '-c', script], ...config },
  };
}

const isLayer = ({ mediaType }: Blob) => mediaType.includes('.layer.');

/** Registries with one image each, `app:1`, and a fault each. */
export interface FaultyRegistries extends AsyncDisposable {
  basic: Registry;
  token: Registry;
  /** Asks for a login that nobody has. */
  closed: Registry;
  /** Its layer takes about three seconds. */
  slow: Registry;
  /** Breaks off in the middle of the layer until `heal`. */
  broken: Registry & { heal(): void };
  /** 429 to everything until `relent`. */
  limited: Registry & { relent(): void };
  /** TLS with a certificate of an unknown authority. */
  mistrusted: Registry;
  /** An address where nobody listens. */
  gone: string;
  /** Its layer never ends. */
  endless: Registry;
}

export async function faultyRegistries(login: { username: string; password: string }): Promise<FaultyRegistries> {
  // An image of its own each: a runtime does not fetch what it has.
  const start = async (name: string, more: Omit<RegistryOptions, 'images'> = {}) =>
    startRegistry({ images: [await shellImage('app:1', `echo from ${name}; exec /busybox sleep 100000`, {})].map(unique(name)), ...more });
  const faults = { broken: true, limited: true };
  const pieces = 15;
  const server = await (await newAuthority('nobody-knows-this-authority')).server('registry', ['127.0.0.1']);
  const gone = await start('gone');
  await gone[Symbol.asyncDispose]();
  const all = {
    basic: await start('basic', { login }),
    token: await start('token', { login, auth: 'token' }),
    closed: await start('closed', { login: { username: 'nobody', password: 'knows' } }),
    slow: await start('slow', {
      answer: (request, response, blob) => {
        if (!isLayer(blob) || request.method === 'HEAD') return false;
        response.writeHead(200, { 'content-type': blob.mediaType, 'content-length': blob.data.length });
        const size = Math.ceil(blob.data.length / pieces);
        let at = 0;
        const timer = setInterval(() => {
          response.write(blob.data.subarray(at, at + size));
          at += size;
          if (at < blob.data.length && !response.destroyed) return;
          clearInterval(timer);
          response.end();
        }, 200);
        return true;
      },
    }),
    broken: Object.assign(
      await start('broken', {
        answer: (_request, response, blob) => {
          if (!faults.broken || !isLayer(blob)) return false;
          response.writeHead(200, { 'content-type': blob.mediaType, 'content-length': blob.data.length });
          response.write(blob.data.subarray(0, blob.data.length / 2), () => response.destroy());
          return true;
        },
      }),
      {
        heal: () => {
          faults.broken = false;
        },
      },
    ),
    limited: Object.assign(
      await start('limited', {
        answer: (_request, response) => {
          if (faults.limited) response.writeHead(429, { 'retry-after': '1' }).end('{"errors":[{"code":"TOOMANYREQUESTS"}]}');
          return faults.limited;
        },
      }),
      {
        relent: () => {
          faults.limited = false;
        },
      },
    ),
    mistrusted: await start('mistrusted', { tls: { cert: server.certPem, key: server.keyPem } }),
    endless: await start('endless', {
      answer: (request, response, blob) => {
        if (!isLayer(blob) || request.method === 'HEAD') {
          serve(request, response, blob);
          return true;
        }
        response.writeHead(200, { 'content-type': blob.mediaType });
        const timer = setInterval(() => response.write(Buffer.alloc(8192)), 50);
        response.once('close', () => clearInterval(timer));
        return true;
      },
    }),
  };
  return {
    ...all,
    gone: gone.host,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Object.values(all).map((registry) => registry[Symbol.asyncDispose]()));
    },
  };
}

const unique =
  (name: string) =>
  (image: ImageSource): ImageSource => ({
    ...image,
    files: [...image.files, { kind: 'file', name: 'name', mode: 0o644, data: Buffer.from(name) }],
  });
