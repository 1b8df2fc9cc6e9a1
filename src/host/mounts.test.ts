import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type MountEntry, nodeMounts, parseMountInfo } from './mounts.ts';

describe('parseMountInfo', () => {
  it('reads fields with and without optional ones, and the kernel escapes', () => {
    const text = [
      '36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue',
      '31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct',
      'short line',
      '',
    ].join('\n');
    const [first, second, ...rest] = parseMountInfo(text);
    assert.equal(rest.length, 0);
    assert.deepEqual(first, {
      id: 36,
      parentId: 35,
      root: '/mnt1',
      mountPoint: '/mnt 2',
      options: ['rw', 'noatime'],
      fsType: 'ext3',
      source: '/dev/root',
      superOptions: ['rw', 'errors=continue'],
    });
    assert.deepEqual(second?.superOptions, ['rw', 'cpu', 'cpuacct']);
  });
});

describe('nodeMounts', () => {
  it('finds the mounts of this machine below a path', async () => {
    const all = await nodeMounts.list();
    assert.ok(all.some((mount) => mount.mountPoint === '/'));
    const proc = await nodeMounts.below('/proc');
    assert.ok(proc.some((mount) => mount.fsType === 'proc'));
    assert.ok(proc.every((mount) => mount.mountPoint.startsWith('/proc')));
    // Others mount and unmount meanwhile: what was there before and after must be found.
    const keys = (mounts: readonly MountEntry[]) => mounts.map((mount) => `${mount.id} ${mount.mountPoint}`);
    const below = new Set(keys(await nodeMounts.below('/')));
    const after = new Set(keys(await nodeMounts.list()));
    assert.deepEqual(
      keys(all).filter((key) => after.has(key) && !below.has(key)),
      [],
    );
  });

  it('says why an unmount failed', async () => {
    await assert.rejects(
      nodeMounts.unmount('/nonexistent-mount-point'),
      /cannot unmount \/nonexistent-mount-point: .*(not mounted|not found|no mount|mount point)/i,
    );
  });

  it('does not unmount what a link leads to', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kts-mounts-'));
    try {
      await symlink('/proc', join(dir, 'link'));
      await assert.rejects(nodeMounts.unmount(join(dir, 'link')), /not mounted/);
      assert.ok((await nodeMounts.list()).some((mount) => mount.mountPoint === '/proc'));
      await symlink('/', join(dir, 'root'));
      assert.deepEqual(await nodeMounts.below(join(dir, 'root/proc')), await nodeMounts.below('/proc'));
      assert.deepEqual([await nodeMounts.isOwnDevice('/proc'), await nodeMounts.isOwnDevice(dir)], [true, false]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
