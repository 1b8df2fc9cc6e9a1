import assert from 'node:assert/strict';
import test from 'node:test';
import { parseMountinfo } from './mounts.ts';

test('mount points, types and options are read, with and without optional fields, blanks unescaped', () => {
  const text = `27 0 254:0 / / rw,relatime - ext4 /dev/root rw
42 27 0:39 / /run/a\\040b/shm rw,nosuid master:7 propagate_from:2 - tmpfs shm rw,size=65536k
31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
`;
  assert.deepEqual(parseMountinfo(text), [
    { mountpoint: '/', type: 'ext4', superOptions: ['rw'] },
    { mountpoint: '/run/a b/shm', type: 'tmpfs', superOptions: ['rw', 'size=65536k'] },
    { mountpoint: '/sys/fs/cgroup/cpu,cpuacct', type: 'cgroup', superOptions: ['rw', 'cpu', 'cpuacct'] },
  ]);
});
