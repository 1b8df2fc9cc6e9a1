import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMountInfo } from '../mounts.ts';
import { detectLayout } from './layout.ts';

const v1 = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
90 31 0:32 / /srv/chroot/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
91 31 0:32 /docker/x /mnt/m rw - cgroup cgroup rw,pids
`;
const unified = '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n';

describe('detectLayout', () => {
  it('reads v1, co-mounted controllers and the named hierarchy, and skips duplicates and partial mounts', () => {
    const layout = detectLayout(parseMountInfo(v1));
    assert.equal(layout.version, 1);
    assert.deepEqual(layout.version === 1 && Object.fromEntries(layout.controllers), {
      cpu: '/sys/fs/cgroup/cpu,cpuacct',
      cpuacct: '/sys/fs/cgroup/cpu,cpuacct',
      memory: '/sys/fs/cgroup/memory',
      systemd: '/sys/fs/cgroup/systemd',
    });
    assert.equal(layout.version === 1 && layout.unified, undefined);
  });

  it('knows a hybrid host', () => {
    const layout = detectLayout(parseMountInfo(v1 + unified));
    assert.equal(layout.version === 1 && layout.unified, '/sys/fs/cgroup/unified');
  });

  it('knows v2, also beside a bare systemd hierarchy', () => {
    const v2 = '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n';
    const named = '40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n';
    assert.deepEqual(detectLayout(parseMountInfo(v2)), { version: 2, mountPoint: '/sys/fs/cgroup' });
    assert.deepEqual(detectLayout(parseMountInfo(v2 + named)), { version: 2, mountPoint: '/sys/fs/cgroup' });
  });

  it('throws where nothing is mounted', () => {
    assert.throws(() => detectLayout([]), /no control groups are mounted/);
  });
});
