import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodSpec, PodStatus } from '../api/types.ts';
import { podLevelStatus } from './pod-resources.ts';

const pod = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } } }], ...spec },
});
const group = (more: object = {}) => ({ cpuShares: 102, cpuQuota: -1, cpuPeriod: 100_000, memory: -1, ...more });
const running: PodStatus = { phase: 'Running' };

describe('podLevelStatus', () => {
  it('shows what is allocated until the pod runs', () => {
    assert.deepEqual(podLevelStatus(pod({}), {}, group()), {
      allocatedResources: { cpu: '100m', memory: '64Mi' },
      resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
    });
    assert.deepEqual(podLevelStatus(pod({ containers: [{ name: 'c' }] }), {}, undefined), { resources: {} });
  });
  it("then what the pod's group is set to", () => {
    const { resources } = podLevelStatus(pod({}), running, group({ cpuShares: 204, cpuQuota: 50_000, memory: 2 ** 27 }));
    assert.deepEqual(resources, { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '500m', memory: '128Mi' } });
    assert.deepEqual(podLevelStatus(pod({}), running, group()).resources, { requests: { cpu: '100m', memory: '64Mi' } });
  });
  it("keeps the user's text where it says the same, and what lies below the kernel's floors", () => {
    const own = { requests: { cpu: '0.5', memory: '1Gi' }, limits: { cpu: '1', memory: '1024Mi' } };
    const same = podLevelStatus(pod({ resources: own }), running, group({ cpuShares: 512, cpuQuota: 100_000, memory: 2 ** 30 }));
    assert.deepEqual(same.resources, own);
    const tiny = { requests: { cpu: '1m' }, limits: { cpu: '5m' } };
    const { resources } = podLevelStatus(
      pod({ containers: [{ name: 'c' }], resources: tiny }),
      running,
      group({ cpuShares: 2, cpuQuota: 1000 }),
    );
    assert.deepEqual(resources, tiny);
  });
  it('keeps the request that a coarse v2 weight stands for', () => {
    const own = { requests: { cpu: '100m' } };
    const { resources } = podLevelStatus(pod({ containers: [{ name: 'c' }], resources: own }), running, group({ cpuShares: 80 }));
    assert.deepEqual(resources, own);
  });
  it('keeps what it said before while nothing is known of the group', () => {
    const before: PodStatus = { phase: 'Running', resources: { requests: { cpu: '300m' }, limits: { cpu: '2', memory: '1Gi' } } };
    assert.deepEqual(podLevelStatus(pod({}), before, undefined).resources, {
      requests: { cpu: '300m', memory: '64Mi' },
      limits: { cpu: '2', memory: '1Gi' },
    });
  });
});
