import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuWeight } from './cpu.ts';
import { hugepageUnit } from './hugetlb.ts';
import type { CgroupSettings } from './settings.ts';
import { cgroupWrites } from './settings.ts';

const all: CgroupSettings = {
  cpuShares: 512,
  cpuQuota: 50_000,
  cpuPeriod: 100_000,
  memory: 1_048_576,
  pids: 100,
  hugetlb: new Map([
    [2 * 1024 * 1024, 2 ** 62],
    [1024 ** 3, 0],
  ]),
  cpusetCpus: '0-1',
  unified: { 'memory.low': '4096' },
};
const lines = (version: 1 | 2, settings: CgroupSettings) => cgroupWrites(version, settings).map(({ file, value }) => `${file}=${value}`);

describe('cgroupWrites', () => {
  it('writes v1 files, the period before the quota, and no unified ones', () => {
    assert.deepEqual(lines(1, all), [
      'cpu.shares=512',
      'cpu.cfs_period_us=100000',
      'cpu.cfs_quota_us=50000',
      'memory.limit_in_bytes=1048576',
      'pids.max=100',
      'hugetlb.2MB.limit_in_bytes=4611686018427387904',
      'hugetlb.1GB.limit_in_bytes=0',
      'cpuset.cpus=0-1',
    ]);
  });
  it('writes v2 files', () => {
    assert.deepEqual(lines(2, all), [
      'cpu.weight=20',
      'cpu.max=50000 100000',
      'memory.max=1048576',
      'pids.max=100',
      'hugetlb.2MB.max=4611686018427387904',
      'hugetlb.1GB.max=0',
      'cpuset.cpus=0-1',
      'memory.low=4096',
    ]);
  });
  it('says "none" in the words of each version', () => {
    const none = { cpuQuota: -1, memory: -1, pids: -1 };
    assert.deepEqual(lines(1, none), ['cpu.cfs_quota_us=-1', 'memory.limit_in_bytes=-1', 'pids.max=max']);
    assert.deepEqual(lines(2, none), ['cpu.max=max 100000', 'memory.max=max', 'pids.max=max']);
  });
  it('writes nothing for nothing', () => {
    assert.deepEqual(lines(1, {}), []);
    assert.deepEqual(lines(2, {}), []);
  });
  it('refuses a unified name that would leave the directory', () => {
    for (const file of ['../x', 'memory/../../x.y', 'nodot', '.hidden']) assert.throws(() => cgroupWrites(2, { unified: { [file]: '1' } }));
  });
  it('maps shares to weights over the whole range', () => {
    assert.deepEqual([1, 2, 1024, 262_144, 999_999].map(cpuWeight), [1, 1, 39, 10_000, 10_000]);
  });
  it('names page sizes as the kernel does', () => {
    assert.deepEqual([65_536, 2_097_152, 1_073_741_824, 17_179_869_184].map(hugepageUnit), ['64KB', '2MB', '1GB', '16GB']);
  });
});
