import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Container, Pod } from '../api/types.ts';
import { CgroupNameError, cgroupName, cgroupParent, parseCgroupfs, parseSystemd, toCgroupfs, toSystemd } from './cgroup-names.ts';
import { milliCpuToQuota, milliCpuToShares, quotaToMilliCpu, sharesToMilliCpu } from './cpu.ts';
import { oomScoreAdjust } from './oom.ts';
import { podCgroupConfig, podLevelMemoryHigh } from './pod-cgroup-config.ts';

const podOf = (...containers: Container[]): Pod => ({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers } });
const options = { enforceCpuLimits: true, cpuPeriod: 100_000, enforceMemoryQoS: false, memoryReservationPolicy: 'None' };

test('shares and thousandths survive the way there and back, rounded down by at most one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 256_000 }), (milli) => {
      const back = sharesToMilliCpu(milliCpuToShares(milli));
      assert.ok(back === milli || back === milli - 1 || back === milli + 1, `${milli} gives ${back}`);
    }),
  );
  assert.equal(milliCpuToShares(0), 2);
  assert.equal(milliCpuToShares(1e12), 262_144);
});

test('quota', () => {
  assert.equal(milliCpuToQuota(0, 100_000), 0);
  assert.equal(milliCpuToQuota(1, 100_000), 1000);
  assert.equal(milliCpuToQuota(1500, 100_000), 150_000);
  assert.equal(quotaToMilliCpu(-1, 100_000), 0);
  assert.equal(quotaToMilliCpu(150_000, 100_000), 1500);
  assert.throws(() => quotaToMilliCpu(1, 0), /period/);
});

test('cgroup names of both drivers read back', () => {
  const part = fc.stringMatching(/^[a-z0-9]{1,8}(-[a-z0-9]{1,4})?$/);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const name = cgroupName([], ...parts);
      assert.deepEqual(parseCgroupfs(toCgroupfs(name)), parts);
      assert.deepEqual(parseSystemd(toSystemd(name)), parts);
    }),
  );
  assert.equal(cgroupParent(['kubepods', 'pod1-2'], 'systemd'), 'kubepods-pod1_2.slice');
  assert.equal(cgroupParent(['kubepods', 'pod1-2'], 'cgroupfs'), '/kubepods/pod1-2');
  for (const bad of ['a/b', 'a_b']) assert.throws(() => cgroupName([], bad), CgroupNameError);
  assert.throws(() => toSystemd(['a', '', 'b']), CgroupNameError);
});

test('a burstable pod gets only the limits that all its containers have', () => {
  const limited: Container = { name: 'a', resources: { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } } };
  const half: Container = { name: 'b', resources: { limits: { cpu: '1' } } };
  assert.deepEqual(podCgroupConfig(podOf(limited, half), options), {
    cpuShares: 512,
    cpuQuota: 200_000,
    cpuPeriod: 100_000,
    hugePageLimit: new Map(),
  });
  assert.equal(podCgroupConfig(podOf(limited, half), { ...options, enforceCpuLimits: false }).cpuQuota, -1);
  assert.deepEqual(podCgroupConfig(podOf({ name: 'c' }), options), { cpuShares: 2, hugePageLimit: new Map() });
});

test('memory.high lies between request and limit, in whole pages', () => {
  const pod = podOf({ name: 'c' });
  pod.spec.resources = { requests: { memory: '1Mi' }, limits: { memory: '2Mi' } };
  assert.equal(podLevelMemoryHigh(pod, 0.5, 4096), String(1.5 * 2 ** 20));
  assert.equal(podLevelMemoryHigh(podOf({ name: 'c' }), 0.5, 4096), undefined);
});

test('oom scores', () => {
  const burstable: Container = { name: 'c', resources: { requests: { memory: '1Gi' } } };
  assert.equal(oomScoreAdjust(podOf(burstable), burstable, 4n * 2n ** 30n), 750);
  assert.equal(oomScoreAdjust(podOf(burstable), burstable, 2 ** 30), 3);
  assert.equal(oomScoreAdjust(podOf({ name: 'c' }), { name: 'c' }, 1), 1000);
  assert.throws(() => oomScoreAdjust(podOf(burstable), burstable, 0), /capacity/);
});
