import assert from 'node:assert/strict';
import { access, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isErrno } from './files.ts';
import { parseMountInfo } from './mounts.ts';
import { mountBelow, removeTree } from './remove-tree.ts';

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

describe('removeTree', () => {
  let dir = '';
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'remove-'));
  });
  after(() => rm(dir, { recursive: true }));

  it('removes files, directories and links, and not what the links point to', async () => {
    const outside = join(dir, 'outside');
    await mkdir(join(outside, 'sub'), { recursive: true });
    await writeFile(join(outside, 'sub/kept'), 'kept');
    const tree = join(dir, 'tree');
    await mkdir(join(tree, 'a/b'), { recursive: true });
    await writeFile(join(tree, 'a/f'), '');
    await symlink(outside, join(tree, 'a/b/escape'));
    await symlink('/', join(tree, 'root'));
    await removeTree(tree);
    assert.equal(await exists(tree), false);
    assert.equal(await readFile(join(outside, 'sub/kept'), 'utf8'), 'kept');
  });

  it('removes a link itself, and a single file', async () => {
    await mkdir(join(dir, 'solid'));
    await symlink(join(dir, 'solid'), join(dir, 'ln'));
    await removeTree(join(dir, 'ln'));
    assert.equal(await exists(join(dir, 'ln')), false);
    assert.equal(await exists(join(dir, 'solid')), true);
    await writeFile(join(dir, 'file'), '');
    await removeTree(join(dir, 'file'));
    assert.equal(await exists(join(dir, 'file')), false);
  });

  it('needs no descriptor per level for a very deep tree', async () => {
    const tree = join(dir, 'deep');
    await mkdir(join(tree, ...Array<string>(700).fill('d')), { recursive: true });
    await writeFile(join(tree, ...Array<string>(700).fill('d'), 'f'), '');
    await removeTree(tree);
    assert.equal(await exists(tree), false);
  });

  it('refuses a tree that holds a mount point', async () => {
    await assert.rejects(removeTree('/proc'), (err) => isErrno(err, 'EXDEV') && err.message.includes('/proc'));
  });

  it('sees a bind mount of the same file system below the tree, and not one beside it', () => {
    const mounts = parseMountInfo('50 1 8:1 /x /var/lib/kubelet/pods/u1/volumes/v rw - ext4 /dev/sda1 rw\n');
    assert.equal(mountBelow('/var/lib/kubelet/pods/u1', mounts), '/var/lib/kubelet/pods/u1/volumes/v');
    assert.equal(mountBelow('/var/lib/kubelet/pods/u', mounts), undefined);
    assert.equal(mountBelow('/var/lib/kubelet/pods/u1/volumes/v/w', mounts), undefined);
  });
});
