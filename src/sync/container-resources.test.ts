import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testNodeSettings } from '../../test/support/node-settings.ts';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../api/types.ts';
import { containerResources, sandboxOverhead, sandboxResources } from './container-resources.ts';
import type { NodeSettings } from './node-settings.ts';

const MiB = 1024 ** 2;

function podOf(resources: ResourceRequirements, spec: Partial<PodSpec> = {}): { pod: Pod; container: Container } {
  const container: Container = { name: 'c', image: 'i', resources };
  return { pod: { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [container], ...spec } }, container };
}

function resources(
  requirements: ResourceRequirements,
  node: Partial<NodeSettings> = {},
  spec: Partial<PodSpec> = {},
  exclusiveCpus = false,
) {
  const { pod, container } = podOf(requirements, spec);
  return containerResources(pod, container, testNodeSettings(node), { exclusiveCpus, allocatable: { memory: '4Gi' } });
}
const noPages = [
  { pageSize: '2MB', limit: 0 },
  { pageSize: '1GB', limit: 0 },
];

describe('containerResources', () => {
  it('gives the least share and no limit without requirements', () => {
    assert.deepEqual(resources({}), { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000, oomScoreAdj: 1000, hugepageLimits: noPages });
  });
  it('takes shares from the request, else from the limit', () => {
    assert.equal(resources({ requests: { cpu: '250m' }, limits: { cpu: '1' } }).cpuShares, 256);
    assert.equal(resources({ limits: { cpu: '1' } }).cpuShares, 1024);
    assert.equal(resources({ requests: { cpu: '0' }, limits: { cpu: '1' } }).cpuShares, 2);
  });
  it('sets quota by the period, at least a millisecond, none with exclusive CPUs or when switched off', () => {
    assert.equal(resources({ limits: { cpu: '500m' } }, { cpuCFSQuotaPeriodUs: 10_000 }).cpuQuota, 5000);
    assert.equal(resources({ limits: { cpu: '1m' } }).cpuQuota, 1000);
    assert.equal(resources({ limits: { cpu: '2' } }, {}, {}, true).cpuQuota, -1);
    const off = resources({ limits: { cpu: '2' } }, { cpuCFSQuota: false });
    assert.deepEqual([off.cpuQuota, off.cpuPeriod], [undefined, undefined]);
  });
  it('takes the limits of the pod where the container has none', () => {
    const got = resources({}, {}, { resources: { limits: { cpu: '1', memory: '64Mi' } } });
    assert.deepEqual([got.cpuQuota, got.memoryLimitInBytes, got.cpuShares], [100_000, 64 * MiB, 1024]);
  });
  it('limits every page size of the node', () => {
    const got = resources({ limits: { 'hugepages-2Mi': '4Mi' } }, {}, { resources: { limits: { 'hugepages-1Gi': '1Gi', cpu: '1' } } });
    assert.deepEqual(got.hugepageLimits, [
      { pageSize: '2MB', limit: 4 * MiB },
      { pageSize: '1GB', limit: 1024 * MiB },
    ]);
  });
  it('forbids swap on v1 only next to a memory limit', () => {
    assert.equal(resources({ limits: { memory: '64Mi' } }, { swapControllerAvailable: true }).memorySwapLimitInBytes, 64 * MiB);
    assert.equal(resources({}, { swapControllerAvailable: true }).memorySwapLimitInBytes, undefined);
    assert.equal(resources({ limits: { memory: '64Mi' } }).memorySwapLimitInBytes, undefined);
  });
});

describe('containerResources on v2', () => {
  const v2 = { cgroupVersion: 2 as const };
  it('kills the container as a whole, protects nothing', () => {
    assert.deepEqual(resources({}, v2).unified, { 'memory.oom.group': '1', 'memory.min': '0', 'memory.low': '0' });
    assert.equal(resources({}, { ...v2, singleProcessOOMKill: true }).unified?.['memory.oom.group'], undefined);
    assert.deepEqual(resources({}, { ...v2, memoryQoS: false, singleProcessOOMKill: true }).unified, { 'memory.high': 'max' });
  });
  it('protects requests in tiers', () => {
    const tiered = { ...v2, memoryReservationPolicy: 'TieredReservation', singleProcessOOMKill: true };
    assert.deepEqual(resources({ requests: { memory: '64Mi' } }, tiered).unified, { 'memory.low': String(64 * MiB) });
    const full = { cpu: '1', memory: '64Mi' };
    assert.deepEqual(resources({ requests: full, limits: full }, tiered).unified, { 'memory.min': String(64 * MiB) });
  });
  it('slows down between request and limit, or allocatable', () => {
    const throttled = { ...v2, memoryThrottlingFactor: 0.5 };
    const high = (r: ResourceRequirements, spec = {}) => resources(r, throttled, spec).unified?.['memory.high'];
    assert.equal(high({ requests: { memory: '100Mi' }, limits: { memory: '200Mi' } }), String(150 * MiB));
    assert.equal(high({ requests: { memory: '100Mi' } }), String((100 + (4096 - 100) / 2) * MiB));
    assert.equal(high({ requests: { memory: '100Mi' }, limits: { memory: '100Mi' } }), undefined);
    assert.equal(high({ requests: { memory: '100Mi' } }, { resources: { limits: { memory: '1Gi' } } }), undefined);
  });
  it('shares swap out by memory request', () => {
    const swap = { ...v2, swapControllerAvailable: true, swapBehavior: 'LimitedSwap' as const };
    const max = (r: ResourceRequirements, spec: Partial<PodSpec> = {}) => resources(r, swap, spec).unified?.['memory.swap.max'];
    assert.equal(max({ requests: { memory: '1Gi' } }), String(512 * MiB));
    assert.equal(max({ requests: { memory: '1Gi' }, limits: { memory: '1Gi' } }), '0');
    assert.equal(max({}), '0');
    assert.equal(max({ requests: { memory: '1Gi' } }, { priority: 2_000_000_000 }), '0');
    assert.equal(max({ requests: { memory: '16Gi' } }), '0');
    assert.equal(resources({ requests: { memory: '1Gi' } }, { ...swap, swapBehavior: 'NoSwap' }).unified?.['memory.swap.max'], '0');
  });
});

describe('sandboxResources', () => {
  it('sums the containers without the overhead, which stands by itself', () => {
    const { pod } = podOf(
      { requests: { cpu: '1', memory: '1Mi' }, limits: { cpu: '1', memory: '2Mi' } },
      { overhead: { cpu: '500m', memory: '1Mi' } },
    );
    assert.deepEqual(sandboxResources(pod, testNodeSettings()), {
      cpuShares: 1024,
      cpuQuota: 100_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 2 * MiB,
    });
    assert.deepEqual(sandboxOverhead(pod, testNodeSettings()), {
      cpuShares: 512,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: MiB,
    });
    assert.deepEqual(sandboxOverhead(podOf({}).pod, testNodeSettings()), {});
  });
});
