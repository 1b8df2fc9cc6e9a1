import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { mustRun } from '../../../../scripts/node/run.ts';
import { serveRegistry } from '../registry.ts';
import { ImageStore } from './imageStore.ts';
import { Layer } from './layer.ts';

const LONG = `var/registry/pause/manifests/sha256/ab/${'0123456789abcdef'.repeat(4)}/data`;

test('a layer holds its folders, modes, links and long names, by the words of tar itself', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kts-layer-'));
  try {
    const layer = new Layer()
      .folder('tmp', 0o1777)
      .file('bin/tool', 'x', 0o6755)
      .link('bin/tool', 'never')
      .link('bin/alias', 'tool')
      .file(LONG, 'deep');
    const path = join(folder, 'layer.tar');
    await writeFile(path, layer.tar());
    const listed = (await mustRun('tar', ['-tvf', path])).split('\n').map((l) => l.replace(/\s+/g, ' '));
    const has = (pattern: RegExp) =>
      assert.ok(
        listed.some((l) => pattern.test(l)),
        `${pattern} in\n${listed.join('\n')}`,
      );
    has(/^drwxrwxrwt 0\/0 .* tmp\/$/);
    has(/^-rwsr-sr-x 0\/0 1 .* bin\/tool$/);
    has(/^lrwxrwxrwx .* bin\/alias -> tool$/);
    has(/^drwxr-xr-x .* var\/registry\/pause\/$/);
    assert.equal(await mustRun('tar', ['-xOf', path, LONG]), 'deep');
    assert.deepEqual(layer.tar(), layer.tar());
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the registry serves what the store holds, by tag and by digest, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kts-store-'));
  const store = new ImageStore(folder);
  const layer = new Layer().file('a', 'content');
  const image = store.add(['registry.k8s.io/group/name:1', 'gcr.io/other:2'], [layer], { Cmd: ['a'] });
  const another = store.add(['registry.k8s.io/group/name:2'], [layer], { Cmd: ['a'] }, 'differs');
  store.close();
  assert.notEqual(image.manifest.digest, another.manifest.digest);
  assert.deepEqual(image.layers, another.layers);
  const server = await serveRegistry(folder, 0);
  const base = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const get = (path: string, method = 'GET') => fetch(`${base}${path}`, { method });
  try {
    assert.equal((await get('/v2/')).status, 200);
    const head = await get('/v2/group/name/manifests/1?ns=registry.k8s.io', 'HEAD');
    assert.equal(head.headers.get('docker-content-digest'), image.manifest.digest);
    assert.equal(Number(head.headers.get('content-length')), image.manifest.size);
    const manifest = Buffer.from(await (await get(`/v2/other/manifests/${image.manifest.digest}`)).arrayBuffer());
    assert.equal(`sha256:${createHash('sha256').update(manifest).digest('hex')}`, image.manifest.digest);
    const { layers } = JSON.parse(manifest.toString()) as { layers: { digest: string }[] };
    const blob = await get(`/v2/other/blobs/${layers[0]?.digest}`);
    assert.deepEqual(Buffer.from(await blob.arrayBuffer()), layer.tar());
    for (const path of [
      '/v2/group/name/manifests/1?ns=gcr.io',
      '/v2/group/name/manifests/3?ns=registry.k8s.io',
      `/v2/other/blobs/sha256:${'0'.repeat(64)}`,
      '/v2/other/blobs/sha256:..%2f..%2ftags.json',
      '/tags.json',
    ])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get('/v2/other/blobs/x', 'DELETE')).status, 404);
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  }
});
