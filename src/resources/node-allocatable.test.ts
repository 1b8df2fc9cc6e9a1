import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toResourceList } from '../api/resources.ts';
import { NodeAllocatableError, nodeAllocatable, nodeCapacity, podsLimits } from './node-allocatable.ts';

const GiB = 1024 ** 3;
const machine = {
  cpu: 4000,
  memory: 16 * GiB,
  maxPids: 32_768,
  hugepages: [
    { pageSize: 2 * 1024 ** 2, total: GiB },
    { pageSize: GiB, total: 0 },
  ],
};
const reservations = {
  systemReserved: { cpu: '100m', memory: '1Gi', pid: '1000' },
  kubeReserved: { cpu: '400m', memory: '1Gi', 'ephemeral-storage': '10Gi' },
  evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%', 'imagefs.available': '15%' },
};
const capacity = nodeCapacity(machine, { ephemeralStorage: 100 * GiB, maxPods: 110 });

describe('nodeCapacity', () => {
  it('is written as the API shows it', () => {
    assert.deepEqual(toResourceList(capacity), {
      cpu: '4',
      memory: '16Gi',
      'ephemeral-storage': '107374182400',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
      pods: '110',
    });
  });
  it('bounds pods per core', () => {
    assert.equal(nodeCapacity(machine, { maxPods: 110, podsPerCore: 10 }).get('pods')?.value(), 40n);
    assert.equal(nodeCapacity(machine, { maxPods: 30, podsPerCore: 10 }).get('pods')?.value(), 30n);
  });
});

describe('nodeAllocatable', () => {
  it('takes off every reservation, and huge pages from memory', () => {
    const { 'ephemeral-storage': _, ...rest } = toResourceList(nodeAllocatable(capacity, reservations));
    assert.deepEqual(rest, { cpu: '3500m', memory: '12Gi', 'hugepages-2Mi': '1Gi', 'hugepages-1Gi': '0', pods: '110' });
    const storage = nodeAllocatable(capacity, reservations).get('ephemeral-storage')?.value();
    assert.equal(storage, BigInt(90 * GiB - Math.trunc(100 * GiB * Math.fround(0.1))));
  });
  it('knows the percentages that switch a threshold off', () => {
    for (const off of ['0%', '100%']) {
      const got = nodeAllocatable(capacity, { systemReserved: {}, kubeReserved: {}, evictionHard: { 'memory.available': off } });
      assert.equal(got.get('memory')?.value(), BigInt(15 * GiB), off);
    }
  });
  it('names what is reserved beyond the machine', () => {
    const tooMuch = { systemReserved: { cpu: '3' }, kubeReserved: { cpu: '2', memory: '17Gi' }, evictionHard: {} };
    assert.throws(
      () => nodeAllocatable(capacity, tooMuch),
      (err) => err instanceof NodeAllocatableError && err.resources.join() === 'cpu,memory' && /cpu: 5 reserved of 4/.test(err.message),
    );
  });
  it('refuses a threshold that is no number', () => {
    assert.throws(() => nodeAllocatable(capacity, { ...reservations, evictionHard: { 'memory.available': 'x%' } }), /percentage/);
  });
});

describe('podsLimits', () => {
  it('takes off what is reserved but not eviction thresholds, when enforced on pods', () => {
    const got = podsLimits(machine, reservations, ['pods']);
    assert.deepEqual([got.cpu, got.memory, got.pids], [3500, 14 * GiB, 31_768]);
    assert.deepEqual(
      [...got.hugepages],
      [
        [2 * 1024 ** 2, GiB],
        [GiB, 0],
      ],
    );
  });
  it('is the whole machine otherwise', () => {
    const got = podsLimits(machine, reservations, ['none']);
    assert.deepEqual([got.cpu, got.memory, got.pids], [4000, 16 * GiB, 32_768]);
    assert.equal(podsLimits({ cpu: 1, memory: 1, hugepages: [] }, reservations, ['pods']).pids, undefined);
    assert.equal(podsLimits({ cpu: 1, memory: 1, hugepages: [] }, reservations, ['pods']).memory, 0);
  });
});
