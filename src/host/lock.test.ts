import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { lockRootDir, RootDirLocked } from './lock.ts';

let dir = '';
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kts-lock-'));
});
after(() => rm(dir, { recursive: true, force: true }));

const pidFile = (): string => join(dir, 'kubelet-ts.pid');

test('one agent for one root directory, whatever its path', async () => {
  const lock = await lockRootDir(dir);
  const link = `${dir}-link`;
  await symlink(dir, link);
  try {
    for (const path of [dir, link, `${dir}/`]) {
      await assert.rejects(lockRootDir(path), (error: unknown) => {
        assert.ok(error instanceof RootDirLocked);
        assert.equal(error.pid, process.pid);
        assert.match(error.message, new RegExp(`pid ${process.pid}.*--root-dir`));
        return true;
      });
    }
  } finally {
    await rm(link);
    await lock.release();
  }
  await (await lockRootDir(dir)).release();
});

test('the pid file of a dead agent, or of another boot, is no lock', async () => {
  for (const text of ['999999999 1 x\n', 'garbage\n', '', `1 1 ${'0'.repeat(8)}-dead\n`]) {
    await writeFile(pidFile(), text);
    await (await lockRootDir(dir)).release();
  }
});

test('a living agent in another network namespace is found by its pid file', async () => {
  const stat = await readFile('/proc/1/stat', 'utf8');
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  await writeFile(pidFile(), `1 ${started} ${boot}\n`);
  await assert.rejects(lockRootDir(dir), (error: unknown) => error instanceof RootDirLocked && error.pid === 1);
  await writeFile(pidFile(), `1 ${Number(started) + 1} ${boot}\n`);
  await (await lockRootDir(dir)).release();
});

test('a root directory that is missing is an error of the system', async () => {
  await assert.rejects(lockRootDir(join(dir, 'missing')), { code: 'ENOENT' });
});
