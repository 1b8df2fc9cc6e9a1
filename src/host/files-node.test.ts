import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isErrno } from './files.ts';
import { nodeFiles } from './files-node.ts';

const mode = async (path: string) => (await stat(path)).mode & 0o7777;

describe('nodeFiles', () => {
  let dir = '';
  let umask = 0;
  before(async () => {
    umask = process.umask(0o077);
    dir = await mkdtemp(join(tmpdir(), 'files-'));
  });
  after(async () => {
    process.umask(umask);
    await rm(dir, { recursive: true });
  });

  it('makes directories and files with exact modes under a strict umask', async () => {
    await nodeFiles.mkdir(join(dir, 'a/b'), 0o755);
    assert.equal(await mode(join(dir, 'a')), 0o755);
    assert.equal(await mode(join(dir, 'a/b')), 0o755);
    await nodeFiles.write(join(dir, 'a/w'), 'x', 0o666);
    await nodeFiles.writeAtomic(join(dir, 'a/v'), 'x', 0o644);
    assert.equal(await mode(join(dir, 'a/w')), 0o666);
    assert.equal(await mode(join(dir, 'a/v')), 0o644);
  });

  it('leaves the mode of a directory that exists, and refuses a file in its place', async () => {
    await nodeFiles.mkdir(join(dir, 'kept'), 0o711);
    await nodeFiles.mkdir(join(dir, 'kept'), 0o755);
    assert.equal(await mode(join(dir, 'kept')), 0o711);
    await writeFile(join(dir, 'file'), '');
    await assert.rejects(nodeFiles.mkdir(join(dir, 'file'), 0o755), (err) => isErrno(err, 'EEXIST'));
    await assert.rejects(nodeFiles.mkdir(join(dir, 'file/below'), 0o755), (err) => isErrno(err, 'ENOTDIR'));
  });

  it('makes the same directory twice at once', async () => {
    await Promise.all([1, 2, 3, 4].map(() => nodeFiles.mkdir(join(dir, 'many/x/y'), 0o750)));
    assert.equal(await mode(join(dir, 'many/x/y')), 0o750);
  });

  it('reads no more than asked', async () => {
    const path = join(dir, 'big');
    await writeFile(path, 'x'.repeat(200_000));
    assert.equal((await nodeFiles.read(path)).length, 200_000);
    assert.equal((await nodeFiles.read(path, 70_000)).length, 70_000);
    assert.equal((await nodeFiles.read('/proc/self/stat')).length > 10, true);
  });

  it('neither hangs on a fifo nor reads or writes what is no regular file', async () => {
    const fifo = join(dir, 'fifo');
    execFileSync('mkfifo', [fifo]);
    await assert.rejects(nodeFiles.read(fifo), (err) => isErrno(err, 'EINVAL'));
    await assert.rejects(nodeFiles.write(fifo, 'x', 0o644), (err) => isErrno(err, 'EINVAL', 'ENXIO'));
    await assert.rejects(nodeFiles.read(dir), (err) => isErrno(err, 'EISDIR'));
    await assert.rejects(nodeFiles.read('/dev/zero'), (err) => isErrno(err, 'EINVAL'));
  });

  it('does not write through a symlink', async () => {
    const target = join(dir, 'target');
    await writeFile(target, 'old');
    await symlink(target, join(dir, 'link'));
    await assert.rejects(nodeFiles.write(join(dir, 'link'), 'new', 0o644), (err) => isErrno(err, 'ELOOP'));
    assert.equal(await readFile(target, 'utf8'), 'old');
  });

  it('replaces a file in one step and leaves no temporary behind when it cannot', async () => {
    const sub = join(dir, 'atomic');
    await nodeFiles.mkdir(join(sub, 'taken/full'), 0o755);
    await nodeFiles.writeAtomic(join(sub, 'f'), 'one', 0o600);
    await nodeFiles.writeAtomic(join(sub, 'f'), 'two', 0o600);
    assert.equal(await readFile(join(sub, 'f'), 'utf8'), 'two');
    await assert.rejects(nodeFiles.writeAtomic(join(sub, 'taken'), 'x', 0o600));
    assert.deepEqual((await readdir(sub)).sort(), ['f', 'taken']);
  });

  it('lists by name with kinds, and answers undefined for what is missing', async () => {
    const sub = join(dir, 'listed');
    await nodeFiles.mkdir(join(sub, 'z'), 0o755);
    await nodeFiles.symlink('nowhere', join(sub, 'l'));
    await nodeFiles.write(join(sub, 'a'), 'abc', 0o640);
    assert.deepEqual(await nodeFiles.list(sub), [
      { name: 'a', kind: 'file' },
      { name: 'l', kind: 'symlink' },
      { name: 'z', kind: 'directory' },
    ]);
    assert.equal((await nodeFiles.lstat(join(sub, 'l')))?.kind, 'symlink');
    assert.equal(await nodeFiles.stat(join(sub, 'l')), undefined);
    assert.equal(await nodeFiles.stat(join(sub, 'a/b')), undefined);
    const info = await nodeFiles.stat(join(sub, 'a'));
    assert.deepEqual([info?.kind, info?.size, info?.mode], ['file', 3, 0o640]);
  });

  it('replaces a link but not a file of that name', async () => {
    const link = join(dir, 'replaced');
    await nodeFiles.symlink('one', link);
    await nodeFiles.symlink('two', link);
    assert.equal(await nodeFiles.readlink(link), 'two');
    await writeFile(join(dir, 'solid'), 'keep');
    await assert.rejects(nodeFiles.symlink('x', join(dir, 'solid')), (err) => isErrno(err, 'EEXIST'));
    assert.equal(await readFile(join(dir, 'solid'), 'utf8'), 'keep');
  });

  it('takes a missing file as removed already', async () => {
    await nodeFiles.unlink(join(dir, 'gone'));
    await nodeFiles.rmdir(join(dir, 'gone'));
    await nodeFiles.removeTree(join(dir, 'gone'));
    await assert.rejects(nodeFiles.rmdir(dir), (err) => isErrno(err, 'ENOTEMPTY'));
  });
});
