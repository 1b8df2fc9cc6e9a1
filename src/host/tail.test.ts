import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemTailReader, tailReaderOn } from './tail.ts';

test('the end of a file, never through a symlink, never of anything but a file', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'tail-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'f');
  await writeFile(path, '0123456789');
  const read = async (max: number) => {
    const { data, cut } = await systemTailReader.readTail(path, max);
    return [data.toString(), cut];
  };
  assert.deepEqual(await read(4), ['6789', true]);
  assert.deepEqual(await read(10), ['0123456789', false]);
  assert.deepEqual(await read(100), ['0123456789', false]);
  await symlink(path, join(dir, 'link'));
  await assert.rejects(systemTailReader.readTail(join(dir, 'link'), 4), { code: 'ELOOP' });
  await assert.rejects(systemTailReader.readTail(dir, 4), { code: 'EINVAL' });
  await assert.rejects(systemTailReader.readTail(join(dir, 'none'), 4), { code: 'ENOENT' });
});

test('a reader on top of Files keeps the same rules', async () => {
  const info = (kind: 'file' | 'symlink' | 'fifo') => ({ kind, size: 0, mode: 0, mtimeMs: 0 });
  const on = (kind: 'file' | 'symlink' | 'fifo') =>
    tailReaderOn({ lstat: async () => info(kind), read: async () => Buffer.from('abcdef') });
  const { data, cut } = await on('file').readTail('/x', 2);
  assert.deepEqual([data.toString(), cut], ['ef', true]);
  await assert.rejects(on('symlink').readTail('/x', 2), { code: 'ELOOP' });
  await assert.rejects(on('fifo').readTail('/x', 2), { code: 'EINVAL' });
});
