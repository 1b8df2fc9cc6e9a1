import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CpuSet } from '../api/cpuset.ts';
import { toResourceList } from '../api/resources.ts';
import type { CgroupRefusal } from '../host/cgroups/cgroup-fs.ts';
import type { CgroupSettings } from '../host/cgroups/settings.ts';
import { nodeCapacity, totalReservation } from './node-allocatable.ts';
import { qosMemoryLimits, qosReservePercent } from './qos-reserve.ts';
import { reservationsOf, reservedCpuCount } from './reservations.ts';
import { enforceReserved, reservedCgroups, reservedSettings } from './reserved-cgroups.ts';

const MiB = 2 ** 20;
const fields = {
  systemReserved: { cpu: '300m', memory: '256Mi', pid: '500' },
  kubeReserved: { cpu: '200m', memory: '128Mi' },
  evictionHard: { 'memory.available': '100Mi' },
  reservedSystemCPUs: '',
};

describe('what is set aside', () => {
  it('reservedSystemCPUs stands for all reserved CPUs', () => {
    const { systemReserved, kubeReserved } = reservationsOf({ ...fields, reservedSystemCPUs: '0,2-3' }, CpuSet.parse('0-7'));
    assert.deepEqual(systemReserved, { cpu: '3', memory: '256Mi', pid: '500' });
    assert.deepEqual(kubeReserved, { memory: '128Mi' });
    assert.throws(
      () => reservationsOf({ ...fields, reservedSystemCPUs: '0,9' }, CpuSet.parse('0-7')),
      /names CPUs that are not online: 9; this machine has 0-7/,
    );
  });

  it('the sum holds the eviction thresholds, and CPUs are counted as whole ones', () => {
    const capacity = nodeCapacity({ cpu: 4000, memory: 8192 * MiB, hugepages: [] }, { maxPods: 110 });
    const total = totalReservation(capacity, reservationsOf(fields, CpuSet.empty));
    assert.equal(toResourceList(total)['memory'], '484Mi');
    assert.equal(reservedCpuCount(total), 1);
    assert.equal(reservedCpuCount(new Map()), 0);
  });
});

class FakeGroups {
  readonly set = new Map<string, CgroupSettings>();
  readonly events: string[] = [];
  missing = false;
  refusals: CgroupRefusal[] = [];

  run(enforce: string[], version: 1 | 2 = 1) {
    const groups = reservedCgroups(
      { enforceNodeAllocatable: enforce, systemReservedCgroup: '/system', kubeReservedCgroup: '/agent' },
      fields,
      (name) => name,
    );
    return enforceReserved(groups, {
      memoryQoS: true,
      nodeEvent: (type, reason, message) => this.events.push(`${type} ${reason} ${message}`),
      open: async () => ({
        version,
        exists: async () => !this.missing,
        set: async (path, settings) => {
          this.set.set(path, settings);
          return this.refusals;
        },
      }),
    });
  }
}

describe('groups outside the pods', () => {
  it('are held to what is reserved for them, with an event each', async () => {
    const fake = new FakeGroups();
    await fake.run(['pods', 'kube-reserved', 'system-reserved']);
    assert.deepEqual(fake.set.get('/system'), { cpuShares: 307, memory: 256 * MiB, pids: 500, hugetlb: new Map() });
    assert.deepEqual(fake.set.get('/agent'), { cpuShares: 204, memory: 128 * MiB, hugetlb: new Map() });
    assert.deepEqual(fake.events, [
      'Normal NodeAllocatableEnforced Updated limits on system reserved cgroup /system',
      'Normal NodeAllocatableEnforced Updated limits on kube reserved cgroup /agent',
    ]);
  });

  it('the compressible forms limit the CPU alone, and v2 protects the memory of the others', async () => {
    const fake = new FakeGroups();
    await fake.run(['system-reserved-compressible', 'kube-reserved'], 2);
    assert.deepEqual(fake.set.get('/system'), { cpuShares: 307 });
    assert.deepEqual(fake.set.get('/agent')?.unified, { 'memory.min': String(128 * MiB) });
  });

  it('a group that is not there, or a limit that is refused, stops the start with an event', async () => {
    const fake = new FakeGroups();
    fake.missing = true;
    await assert.rejects(
      fake.run(['kube-reserved']),
      /Failed to enforce Kube Reserved Cgroup Limits on "\/agent": kubeReservedCgroup: .* create it first/,
    );
    assert.match(fake.events[0] ?? '', /^Warning FailedNodeAllocatableEnforcement Failed to enforce Kube Reserved/);
    fake.missing = false;
    fake.refusals = [{ path: '/system', file: 'memory.limit_in_bytes', value: '1', code: 'EBUSY', message: 'busy' }];
    await assert.rejects(fake.run(['system-reserved']), /memory.limit_in_bytes = 1: busy/);
  });

  it('nothing that is not reserved is limited', () => {
    const [group] = reservedCgroups(
      { enforceNodeAllocatable: ['system-reserved'], systemReservedCgroup: '/s', kubeReservedCgroup: '' },
      { systemReserved: {}, kubeReserved: {} },
      (name) => name,
    );
    assert.deepEqual(group && reservedSettings(group, true), { hugetlb: new Map() });
  });
});

describe('memory kept for higher classes', () => {
  it('the classes below leave the percentage of what those above ask for', () => {
    const requests = { guaranteed: 400 * MiB, burstable: 200 * MiB };
    assert.deepEqual(qosMemoryLimits({ percent: 50, allocatable: 1000 * MiB }, requests), { burstable: 800 * MiB, bestEffort: 700 * MiB });
    assert.deepEqual(qosMemoryLimits({ percent: 100, allocatable: 500 * MiB }, requests), { burstable: 100 * MiB, bestEffort: 0 });
  });

  it('is read from the configuration', () => {
    assert.equal(qosReservePercent({ memory: '30%' }), 30);
    assert.equal(qosReservePercent({}), undefined);
  });
});
