import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { groupMode, setGroup, WalkControl } from './fs-group.ts';

describe('groupMode', () => {
  it('adds what the group needs', () => {
    assert.equal(groupMode(0o600, false, false), 0o660);
    assert.equal(groupMode(0o400, false, true), 0o440);
    assert.equal(groupMode(0o700, true, false), 0o2770);
    assert.equal(groupMode(0o777, true, true), 0o2777);
  });
});

// A group of one's own can be given without being root; its members then need no other rights here.
describe('setGroup', () => {
  const gid = process.getgid?.() ?? 0;
  let root: string;
  let outside: string;
  const mode = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'kts-group-'));
    outside = await mkdtemp(join(tmpdir(), 'kts-group-outside-'));
    await mkdir(join(root, 'd/e'), { recursive: true });
    for (const path of ['f', 'd/g', 'd/e/h']) await writeFile(join(root, path), '', { mode: 0o600 });
    await writeFile(join(outside, 'x'), '', { mode: 0o600 });
    await symlink(outside, join(root, 'd/link'));
    await symlink(join(outside, 'x'), join(root, 'd/e/link'));
  });
  afterEach(async () => {
    await rm(root, { recursive: true });
    await rm(outside, { recursive: true });
  });

  it('changes the whole tree, and nothing that links lead to', async () => {
    assert.equal(setGroup(root, gid, { readOnly: false, onRootMismatch: false }), 8);
    for (const path of ['f', 'd/g', 'd/e/h']) assert.equal(await mode(join(root, path)), '660', path);
    for (const path of ['', 'd', 'd/e']) assert.match(await mode(join(root, path)), /^27[5-7]./, path);
    assert.equal((await lstat(join(root, 'd/link'))).gid, gid);
    assert.equal(await mode(join(outside, 'x')), '600');
    assert.equal(await mode(outside), '700');
  });

  it('with onRootMismatch looks no further than a root that is right', async () => {
    const options = { readOnly: false, onRootMismatch: true };
    assert.equal(setGroup(root, gid, options), 8);
    await chmod(join(root, 'f'), 0o600);
    assert.equal(setGroup(root, gid, options), 0);
    assert.equal(await mode(join(root, 'f')), '600');
    await chmod(root, 0o700);
    assert.equal(setGroup(root, gid, options), 8);
    assert.equal(await mode(join(root, 'f')), '660');
  });

  it('gives only reading to files of a read-only volume', async () => {
    setGroup(root, gid, { readOnly: true, onRootMismatch: false });
    assert.equal(await mode(join(root, 'f')), '640');
  });

  it('stops when it is told to', async () => {
    const control = new WalkControl();
    control.stop();
    assert.throws(() => setGroup(root, gid, { readOnly: false, onRootMismatch: false }, control), /was stopped/);
    assert.equal(await mode(root), '700');
  });
});
