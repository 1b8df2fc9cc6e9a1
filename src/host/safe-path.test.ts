import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type OpenBeneathOptions, openBeneath, SafePathError } from './safe-path.ts';

describe('openBeneath', () => {
  let top: string;
  let root: string;
  before(async () => {
    top = await mkdtemp(join(tmpdir(), 'kts-walk-'));
    root = join(top, 'root');
    await mkdir(join(root, 'd/e'), { recursive: true });
    await writeFile(join(root, 'd/f'), 'text');
    await mkdir(join(top, 'outside'));
    await symlink('d/e', join(root, 'inner'));
    await symlink('../f', join(root, 'd/e/up'));
    await symlink('../../root/d/f', join(root, 'out-and-in'));
    await symlink('../outside', join(root, 'out'));
    await symlink('/', join(root, 'absolute'));
    await symlink('b', join(root, 'a'));
    await symlink('a', join(root, 'b'));
    await symlink('missing/target', join(root, 'dangling'));
    await symlink(root, join(top, 'root-link'));
  });
  after(() => rm(top, { recursive: true, force: true }));

  const open = async (path: string, options?: OpenBeneathOptions) => {
    const held = await openBeneath(root, path, options);
    await held.close();
    return held;
  };
  const fails = (path: string, code: string, options?: OpenBeneathOptions) =>
    assert.rejects(open(path, options), (err) => err instanceof SafePathError && err.code === code, `${path}: ${code}`);

  it('opens what is below, through links that stay there', async () => {
    for (const [path, real] of [
      ['d/f', 'd/f'],
      ['./d//e/.', 'd/e'],
      ['inner', 'd/e'],
      ['inner/up', 'd/f'],
      ['d/e/../f', 'd/f'],
      ['', '.'],
    ] as const) {
      const { ino, kind } = await open(path);
      const wanted = await stat(join(root, real), { bigint: true });
      assert.deepEqual([ino, kind === 'directory'], [wanted.ino, wanted.isDirectory()], path);
    }
  });

  it('holds what it opened, not its name', async () => {
    const held = await openBeneath(root, 'd/f');
    assert.equal(await readFile(held.path, 'utf8'), 'text');
    assert.equal(await readFile(held.pathForChild, 'utf8'), 'text');
    await held.close();
  });

  it('refuses every way out', async () => {
    for (const path of ['..', 'd/../..', 'out', 'out/x', 'absolute', 'absolute/etc', 'out-and-in', '/etc', 'd/\0'])
      await fails(path, 'escapes');
    await assert.rejects(openBeneath(join(top, 'root-link'), 'd'), /root of the volume is a link/);
    const followed = await openBeneath(join(top, 'root-link'), 'd', { followRoot: true });
    await followed.close();
  });

  it('refuses loops, files on the way, and what is missing', async () => {
    await fails('a', 'too-many-links');
    await fails('d/f/x', 'not-directory');
    await fails('missing', 'not-found');
    await fails('dangling', 'not-found');
    await fails('m/'.repeat(600), 'too-deep', { create: 0o755 });
    await rm(join(root, 'm'), { recursive: true });
  });

  it('makes missing directories with the mode asked for, and none outside', async () => {
    await open('new/er', { create: 0o2771 });
    for (const path of ['new', 'new/er']) assert.equal((await stat(join(root, path))).mode & 0o7777, 0o2771, path);
    assert.equal((await stat(join(root, 'd'))).mode & 0o7777, 0o755);
    await open('like-root', { create: 'as-root' });
    assert.equal((await stat(join(root, 'like-root'))).mode & 0o7777, (await stat(root)).mode & 0o7777);
    await fails('out/new', 'escapes', { create: 0o755 });
    assert.deepEqual(await readdir(join(top, 'outside')), []);
  });

  it('leaves no descriptor open', async () => {
    const count = async () => (await readdir('/proc/self/fd')).length;
    await open('d/e/up');
    const before = await count();
    for (const path of ['inner/up', 'd/e', 'd/f']) await open(path);
    for (const path of ['out', 'a', 'd/f/x', 'missing/x']) await assert.rejects(open(path));
    assert.equal(await count(), before);
  });
});
