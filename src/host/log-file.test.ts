import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { systemLogFiles } from './log-file.ts';

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kts-log-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a log file is read, and told when another one takes its place', () =>
  inFolder(async (root) => {
    const path = join(root, 'pod/c/0.log');
    await mkdir(join(root, 'pod/c'), { recursive: true });
    await writeFile(path, 'one two');
    const file = await systemLogFiles.open(path, root, []);
    assert.equal((await file.read(4, 100)).toString(), 'two');
    assert.equal((await file.read(7, 100)).length, 0);
    assert.equal(await file.size(), 7);
    assert.equal(await file.replaced(), false);
    await rename(path, `${path}.20260101-000000`);
    assert.equal(await file.replaced(), false, 'nothing is there yet');
    await writeFile(path, 'next');
    assert.equal(await file.replaced(), true);
    await file.close();
  }));

test('links are refused wherever they stand, but for the known one; so is what is no file or not below the root', () =>
  inFolder(async (folder) => {
    const root = join(folder, 'logs');
    const target = join(folder, 'docker');
    await mkdir(join(root, 'pod/c'), { recursive: true });
    await mkdir(target);
    await writeFile(join(folder, 'secret'), 'secret');
    await writeFile(join(target, 'x.log'), 'known');
    await symlink(join(folder, 'secret'), join(root, 'pod/c/0.log'));
    await symlink(folder, join(root, 'pod/d'));
    await symlink(join(target, 'x.log'), join(root, 'pod/c/1.log'));
    const open = (path: string) => systemLogFiles.open(path, root, [target]);
    await assert.rejects(open(join(root, 'pod/c/0.log')), { code: 'EPERM' });
    await assert.rejects(open(join(root, 'pod/d/secret')), { code: 'EPERM' });
    await assert.rejects(open(join(root, '../secret')), { code: 'EPERM' });
    await assert.rejects(open(`${root}/pod/../../secret`), { code: 'EPERM' });
    await assert.rejects(open(join(root, 'pod/c')), { code: 'EINVAL' });
    await assert.rejects(open(join(root, 'pod/c/9.log')), { code: 'ENOENT' });
    const known = await open(join(root, 'pod/c/1.log'));
    assert.equal((await known.read(0, 9)).toString(), 'known');
    await known.close();
    await symlink(root, join(folder, 'linked-root'));
    await writeFile(join(root, 'pod/c/2.log'), 'fine');
    const below = await systemLogFiles.open(join(folder, 'linked-root/pod/c/2.log'), join(folder, 'linked-root'), []);
    assert.equal((await below.read(0, 9)).toString(), 'fine');
    await below.close();
  }));
