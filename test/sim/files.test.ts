import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isErrno } from '../../src/host/files.ts';
import { SimFiles } from './files.ts';

const make = () => new SimFiles({ now: () => 42 });
const errno = (code: string) => (err: unknown) => isErrno(err, code);

test('files are written, read to a limit, listed in order and removed', async () => {
  const fs = make();
  await fs.mkdir('/a/b', 0o750);
  await fs.write('/a/b/two', 'hello', 0o644);
  await fs.writeAtomic('/a/b/one', Buffer.from('x'), 0o600);
  assert.equal((await fs.read('/a/b/two', 3)).toString(), 'hel');
  assert.deepEqual(await fs.list('/a/b'), [
    { name: 'one', kind: 'file' },
    { name: 'two', kind: 'file' },
  ]);
  assert.deepEqual(await fs.stat('/a/b/two'), { kind: 'file', size: 5, mode: 0o644, mtimeMs: 42 });
  assert.equal(await fs.stat('/a/c'), undefined);
  await assert.rejects(fs.rmdir('/a/b'), errno('ENOTEMPTY'));
  await fs.unlink('/a/b/two');
  await fs.unlink('/a/b/two');
  await fs.removeTree('/a');
  assert.deepEqual(fs.tree(), []);
});

test("errors are the kernel's", async () => {
  const fs = make();
  await assert.rejects(fs.write('/none/file', 'x', 0o644), errno('ENOENT'));
  await fs.write('/file', 'x', 0o644);
  await assert.rejects(fs.write('/file/below', 'x', 0o644), errno('ENOTDIR'));
  await assert.rejects(fs.mkdir('/file/dir', 0o755), errno('ENOTDIR'));
  await assert.rejects(fs.read('/'), errno('EISDIR'));
  await assert.rejects(fs.list('/file'), errno('ENOTDIR'));
  await assert.rejects(fs.readlink('/file'), errno('EINVAL'));
  await assert.rejects(fs.write('relative', 'x', 0o644), TypeError);
});

test('symlinks are followed in the middle and at the end, and loops end', async () => {
  const fs = make();
  await fs.mkdir('/real/dir', 0o755);
  await fs.symlink('../real', '/real/self');
  await fs.symlink('/real/dir', '/link');
  await fs.write('/link/file', 'x', 0o644);
  assert.equal((await fs.read('/real/self/dir/file')).toString(), 'x');
  assert.equal((await fs.lstat('/link'))?.kind, 'symlink');
  assert.equal((await fs.stat('/link'))?.kind, 'directory');
  await fs.symlink('/loop2', '/loop1');
  await fs.symlink('/loop1', '/loop2');
  await assert.rejects(fs.read('/loop1'), errno('ELOOP'));
  await fs.symlink('/real', '/link');
  assert.equal(await fs.readlink('/link'), '/real');
  await fs.removeTree('/link');
  assert.equal((await fs.stat('/real/dir'))?.kind, 'directory');
});

test('rename replaces a file and refuses a full directory', async () => {
  const fs = make();
  await fs.mkdir('/d/full', 0o755);
  await fs.write('/d/full/x', '', 0o644);
  await fs.write('/d/a', 'new', 0o644);
  await fs.write('/d/b', 'old', 0o644);
  await fs.rename('/d/a', '/d/b');
  assert.equal((await fs.read('/d/b')).toString(), 'new');
  await fs.mkdir('/d/empty', 0o755);
  await assert.rejects(fs.rename('/d/empty', '/d/full'), errno('ENOTEMPTY'));
  await assert.rejects(fs.rename('/d/full', '/d/full/below'), errno('EINVAL'));
});

test('faults strike by path, by number and for a while', async () => {
  const fs = make();
  await fs.mkdir('/logs/pod', 0o755);
  const mend = fs.readOnly('/logs');
  await assert.rejects(fs.write('/logs/pod/x', '', 0o644), errno('EROFS'));
  await fs.mkdir('/logs/pod', 0o755);
  await fs.write('/logsbeside', '', 0o644);
  mend();
  await fs.write('/logs/pod/x', '', 0o644);
  fs.full('/logs');
  await assert.rejects(fs.writeAtomic('/logs/y', 'y', 0o644), errno('ENOSPC'));
  await fs.unlink('/logs/pod/x');
  fs.clearFaults();
  fs.fail({ op: 'read', code: 'EIO', skip: 1, times: 1 });
  await fs.read('/logsbeside');
  await assert.rejects(fs.read('/logsbeside'), errno('EIO'));
  await fs.read('/logsbeside');
});

test('a power loss keeps what was written atomically', async () => {
  const fs = make();
  await fs.write('/plain', 'x', 0o644);
  await fs.writeAtomic('/safe', 'x', 0o644);
  fs.crash();
  assert.equal((await fs.read('/plain')).length, 0);
  assert.equal((await fs.read('/safe')).toString(), 'x');
});
