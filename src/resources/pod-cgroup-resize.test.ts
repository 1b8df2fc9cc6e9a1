import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/types.ts';
import type { CgroupRefusal } from '../host/cgroups/cgroup-fs.ts';
import { cgroupWrites } from '../host/cgroups/settings.ts';
import { PodCgroupResize } from './pod-cgroup-resize.ts';
import { readMemoryUsage, readPodCgroup } from './pod-cgroup-values.ts';

const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
const path = '/kubepods/podu';

/** Files of one group; writes go to the files of the same name. */
function groupFs(version: 1 | 2, files: Record<string, string>, refuse?: string) {
  return {
    version,
    read: async (at: string, file: string) => (at === path && Object.hasOwn(files, file) ? `${files[file]}\n` : undefined),
    set: async (at: string, settings: Parameters<typeof cgroupWrites>[1]): Promise<CgroupRefusal[]> => {
      const refusals: CgroupRefusal[] = [];
      for (const { file, value } of cgroupWrites(version, settings)) {
        if (file === refuse) refusals.push({ path: at, file, value, code: 'EBUSY', message: 'device or resource busy' });
        else files[file] = value;
      }
      return refusals;
    },
  };
}
const v1 = () => ({
  'cpu.shares': '102',
  'cpu.cfs_quota_us': '-1',
  'cpu.cfs_period_us': '100000',
  'memory.limit_in_bytes': '9223372036854771712',
  'memory.usage_in_bytes': '4096',
});
const groups = { pathOf: () => path, settingsOf: () => ({ cpuShares: 204, memory: 2 ** 20, pids: 7 }), resized: async () => {} };

describe('the values of a pod’s group', () => {
  it('are read from v1 files; the largest limit is none', async () => {
    assert.deepEqual(await readPodCgroup(groupFs(1, v1()), path), { cpuShares: 102, cpuQuota: -1, cpuPeriod: 100_000, memory: -1 });
    const limited = { ...v1(), 'cpu.cfs_quota_us': '5000', 'memory.limit_in_bytes': '67108864' };
    assert.deepEqual(await readPodCgroup(groupFs(1, limited), path), {
      cpuShares: 102,
      cpuQuota: 5000,
      cpuPeriod: 100_000,
      memory: 67_108_864,
    });
  });
  it('are read from v2 files', async () => {
    const files = { 'cpu.weight': '4', 'cpu.max': 'max 100000', 'memory.max': 'max', 'memory.current': '8192' };
    assert.deepEqual(await readPodCgroup(groupFs(2, files), path), { cpuShares: 80, cpuQuota: -1, cpuPeriod: 100_000, memory: -1 });
    const limited = { ...files, 'cpu.max': '20000 50000', 'memory.max': '1048576' };
    assert.deepEqual(await readPodCgroup(groupFs(2, limited), path), {
      cpuShares: 80,
      cpuQuota: 20_000,
      cpuPeriod: 50_000,
      memory: 1_048_576,
    });
    assert.equal(await readMemoryUsage(groupFs(2, files), path), 8192);
  });
  it('are unknown where a file is missing or says nothing', async () => {
    assert.equal(await readPodCgroup(groupFs(1, {}), path), undefined);
    assert.equal(await readPodCgroup(groupFs(2, { 'cpu.weight': '', 'cpu.max': '', 'memory.max': '' }), path), undefined);
    assert.equal(await readMemoryUsage(groupFs(1, {}), path), undefined);
  });
});

describe('PodCgroupResize', () => {
  it('changes a part, and knows the rest', async () => {
    const resize = new PodCgroupResize(groupFs(1, v1()), groups);
    assert.deepEqual(resize.wanted(pod), { cpuShares: 204, memory: 2 ** 20 });
    assert.equal((await resize.current(pod))?.cpuShares, 102);
    await resize.change(pod, { memory: 2 ** 20 });
    assert.deepEqual(resize.known('u'), { cpuShares: 102, cpuQuota: -1, cpuPeriod: 100_000, memory: 2 ** 20 });
    assert.equal(await resize.memoryUsage(pod), 4096);
    resize.forget('u');
    assert.equal(resize.known('u'), undefined);
  });
  it('says which file the kernel refused', async () => {
    const resize = new PodCgroupResize(groupFs(1, v1(), 'memory.limit_in_bytes'), groups);
    await assert.rejects(resize.change(pod, { memory: 1 }), /memory.limit_in_bytes to 1: device or resource busy/);
  });
  it('takes a group that was just made as wanted, and one that is known as it is', async () => {
    const resize = new PodCgroupResize(groupFs(2, {}), groups);
    resize.made(pod);
    assert.deepEqual(resize.known('u'), { cpuShares: 185, cpuQuota: -1, cpuPeriod: 100_000, memory: 2 ** 20 });
    const known = new PodCgroupResize(groupFs(1, v1()), groups);
    await known.current(pod);
    known.made(pod);
    assert.equal(known.known('u')?.cpuShares, 102);
  });
  it('has nothing to say without groups of pods', async () => {
    const none = new PodCgroupResize(groupFs(1, v1()), { ...groups, pathOf: () => undefined });
    none.made(pod);
    await none.change(pod, { memory: 1 });
    assert.deepEqual([await none.current(pod), await none.memoryUsage(pod), none.known('u')], [undefined, undefined, undefined]);
  });
});
