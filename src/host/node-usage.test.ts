import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { bootTimeMs, filesystemSpace } from './node-usage.ts';

async function machine(files: Record<string, string>, work: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'kts-usage-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    await work(`${root}/`);
  } finally {
    await rm(root, { recursive: true });
  }
}

test('a machine that tells nothing gives nothing; space of a file system adds up', async () => {
  await machine({}, async (root) => {
    assert.equal(await bootTimeMs(root), undefined);
    const space = await filesystemSpace(root);
    assert.ok(space !== undefined && space.used + space.available <= space.capacity && space.capacity > 0);
    assert.equal(await filesystemSpace(`${root}none`), undefined);
  });
  await machine({ 'proc/stat': 'cpu 1 2 3\nbtime 1700000000\nprocesses 9\n' }, async (root) => {
    assert.equal(await bootTimeMs(root), 1_700_000_000_000);
  });
});
