import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { mustRun } from '../node/run.ts';
import { ociArchive } from './ociArchive.ts';
import { tar } from './tar.ts';

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kts-tar-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the archive is one that tar(1) reads: modes, links and content of every length', async () => {
  await inFolder(async (folder) => {
    const big = Buffer.alloc(1025, 7);
    const entries = [
      { kind: 'folder', name: 'bin', mode: 0o755 },
      { kind: 'file', name: 'bin/a', mode: 0o750, data: big },
      { kind: 'file', name: 'empty', mode: 0o644, data: Buffer.alloc(0) },
      { kind: 'file', name: 'block', mode: 0o644, data: Buffer.alloc(512, 1) },
      { kind: 'link', name: 'bin/b', target: 'a' },
    ] as const;
    await writeFile(join(folder, 'x.tar'), tar(entries));
    await mustRun('tar', ['-xpf', 'x.tar'], { cwd: folder });
    assert.deepEqual((await readdir(join(folder, 'bin'))).sort(), ['a', 'b']);
    assert.deepEqual(await readFile(join(folder, 'bin/b')), big);
    assert.equal((await stat(join(folder, 'bin/a'))).mode & 0o777, 0o750);
    assert.equal((await stat(join(folder, 'empty'))).size, 0);
    assert.equal((await readFile(join(folder, 'block'))).length, 512);
  });
});

test('names that do not fit are refused', () => {
  assert.throws(() => tar([{ kind: 'file', name: 'x'.repeat(101), mode: 0o644, data: Buffer.alloc(0) }]), /too long/);
});

test('the layout holds every blob under its digest, and equal sources give equal bytes', async () => {
  const image = (reference: string) => ({
    reference,
    files: [{ kind: 'file', name: 'x', mode: 0o644, data: Buffer.from('x') } as const],
    config: { Cmd: ['/x'] },
  });
  const archive = ociArchive([image('registry.local/a:1'), image('registry.local/b:2')]);
  assert.deepEqual(archive, ociArchive([image('registry.local/a:1'), image('registry.local/b:2')]));
  await inFolder(async (folder) => {
    await writeFile(join(folder, 'x.tar'), archive);
    await mustRun('tar', ['-xf', 'x.tar'], { cwd: folder });
    const blobs = await readdir(join(folder, 'blobs/sha256'));
    for (const name of blobs)
      assert.equal(
        createHash('sha256')
          .update(await readFile(join(folder, 'blobs/sha256', name)))
          .digest('hex'),
        name,
      );
    const index = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as {
      manifests: { digest: string; size: number; annotations: Record<string, string> }[];
    };
    assert.deepEqual(
      index.manifests.map((m) => m.annotations['io.containerd.image.name']),
      ['registry.local/a:1', 'registry.local/b:2'],
    );
    for (const m of index.manifests) assert.ok(blobs.includes(m.digest.slice('sha256:'.length)));
  });
});
