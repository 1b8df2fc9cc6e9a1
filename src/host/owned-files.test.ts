import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { nodeOwnedFiles as owned } from './owned-files.ts';
import { hasNoSwap } from './volume-features.ts';

describe('nodeOwnedFiles', () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kts-owned-'));
  });
  after(() => rm(dir, { recursive: true, force: true }));
  const mode = async (name: string) => (await stat(join(dir, name))).mode & 0o7777;

  it('makes a directory with exactly its mode, once', async () => {
    assert.equal(await owned.makeDirectory(join(dir, 'd'), 0o2777), true);
    assert.equal(await mode('d'), 0o2777);
    await chmod(join(dir, 'd'), 0o700);
    assert.equal(await owned.makeDirectory(join(dir, 'd'), 0o2777), false);
    assert.equal(await mode('d'), 0o700);
  });

  it('finishes a directory that a crash left without its mode', async () => {
    await mkdir(join(dir, 'half'), 0);
    assert.equal(await owned.makeDirectory(join(dir, 'half'), 0o755), true);
    assert.equal(await mode('half'), 0o755);
  });

  it('takes nothing else for a directory or a new file', async () => {
    await symlink(tmpdir(), join(dir, 'link'));
    await symlink(join(dir, 'nowhere'), join(dir, 'dangling'));
    await assert.rejects(owned.makeDirectory(join(dir, 'link'), 0o755), /EEXIST/);
    await assert.rejects(owned.createFile(join(dir, 'dangling'), Buffer.from('x'), 0o644), /EEXIST/);
    await writeFile(join(dir, 'f'), 'kept');
    await assert.rejects(owned.createFile(join(dir, 'f'), Buffer.from('x'), 0o644), /EEXIST/);
    assert.equal(await readFile(join(dir, 'f'), 'utf8'), 'kept');
    assert.ok(!(await readdir(dir)).includes('nowhere'));
  });

  it('tells things apart by what they are', async () => {
    await owned.createFile(join(dir, 'g'), Buffer.from('x'), 0o440);
    assert.equal(await mode('g'), 0o440);
    const [file, link, none] = await Promise.all(['g', 'link', 'none'].map((name) => owned.identity(join(dir, name))));
    assert.deepEqual([file?.isDirectory, file?.mode, link?.isDirectory, none], [false, 0o440, false, undefined]);
    assert.equal(await owned.realpath(join(dir, 'none')), undefined);
  });
});

describe('hasNoSwap', () => {
  it('knows the first kernel', () => {
    assert.deepEqual(['6.4.0', '6.18.44-fc', '7.0', '6.3.9', '5.15.0-91-generic', 'odd'].map(hasNoSwap), [
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
