import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, PodSpec } from '../api/types.ts';
import { requestedResizes } from './requested-resizes.ts';
import { infeasibleResize, type ResizeNode } from './resize-feasibility.ts';
import { resizeMessage } from './resize-message.ts';
import { priorityBucket } from './resize-metrics.ts';
import { orderPending, type PendingResize } from './resize-order.ts';

const all = { podLevel: true, initContainers: true };
const both = (cpu: string, memory = '64Mi') => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const pod = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name, namespace: 'n', uid: name, generation: 3 },
  spec: { containers: [{ name: 'c', resources: both('1') }], ...spec },
});
const sized = (cpu: string, memory = '64Mi', more: Partial<Container> = {}) => ({
  containers: [{ name: 'c', resources: both(cpu, memory), ...more }],
});

describe('infeasibleResize', () => {
  const node: ResizeNode = { gates: all, fixedCpus: false, fixedMemory: false, preempts: true, maySwap: () => false };
  const has = pod('p');
  const detail = (wanted: Pod, more: Partial<ResizeNode>, old = has) => infeasibleResize(wanted, old, { ...node, ...more })?.detail;
  const cases: [what: string, wanted: Pod, node: Partial<ResizeNode>, detail: string | undefined][] = [
    ['more room is no matter of possibility', pod('p', sized('1000')), {}, undefined],
    [
      'CPU of a Guaranteed pod whose CPUs are its own',
      pod('p', sized('2')),
      { fixedCpus: true },
      'guaranteed_pod_cpu_manager_static_policy',
    ],
    ['its memory is another matter', pod('p', sized('1', '1Gi')), { fixedCpus: true }, undefined],
    [
      'memory of a Guaranteed pod that is pinned',
      pod('p', sized('1', '1Gi')),
      { fixedMemory: true },
      'guaranteed_pod_memory_manager_static_policy',
    ],
    ['memory of what may swap', pod('p', sized('1', '1Gi')), { maySwap: () => true }, 'swap_limitation'],
    ['CPU of what may swap', pod('p', sized('2')), { maySwap: () => true }, undefined],
    [
      'the pod itself, with the gate off',
      pod('p', { resources: both('4') }),
      { gates: { ...all, podLevel: false } },
      'plr_feature_gate_off',
    ],
    ['the pod itself', pod('p', { resources: both('4') }), {}, undefined],
  ];
  for (const [what, wanted, more, expected] of cases) it(what, () => assert.equal(detail(wanted, more), expected));

  it('a container that restarts for its memory gets its share of the swap then', () => {
    const policy = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    assert.equal(detail(pod('p', sized('1', '1Gi', policy)), { maySwap: () => true }, pod('p', sized('1', '64Mi', policy))), undefined);
  });
  it('pods that are not Guaranteed own no CPUs', () => {
    const burstable = { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] };
    assert.equal(detail(pod('p', burstable), { fixedCpus: true, fixedMemory: true }), undefined);
  });
});

describe('orderPending', () => {
  const wait = (name: string, more: Partial<PodSpec>, since?: string, now = '1'): PendingResize => ({
    pod: pod(name, { ...sized('2'), ...more }),
    allocated: pod(name, { ...sized(now), ...more, containers: sized(now).containers }),
    since,
  });
  it('takes decreases first, then priority, then Guaranteed, then the longest wait', () => {
    const late = wait('late', { priority: 5 }, '2026-01-02T00:00:00Z');
    const early = wait('early', { priority: 5 }, '2026-01-01T00:00:00Z');
    const fresh = wait('fresh', { priority: 5 });
    const burstable = wait(
      'burstable',
      { priority: 5, containers: [{ name: 'c', resources: { requests: { cpu: '3' } } }] },
      '2025-01-01T00:00:00Z',
    );
    const high = wait('high', { priority: 9 });
    const less = wait('less', { priority: -1 }, undefined, '4');
    const sorted = orderPending([burstable, fresh, late, early, high, less]).map((p) => p.pod.metadata.name);
    assert.deepEqual(sorted, ['less', 'high', 'early', 'late', 'fresh', 'burstable']);
  });
});

describe('what is told of a resize', () => {
  it('names the resources as JSON', () => {
    const p = pod('p', {
      initContainers: [{ name: 'i', resources: { requests: { cpu: '1' } } }],
      containers: [{ name: 'c', resources: { requests: { memory: '1Gi', cpu: '1' }, limits: { cpu: '2' } } }, { name: 'd' }],
    });
    assert.equal(
      resizeMessage('Pod resize Deferred', p, 3, 'no <room>'),
      'Pod resize Deferred: {"initContainers":[{"name":"i","resources":{"requests":{"cpu":"1"}}}],' +
        '"containers":[{"name":"c","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1","memory":"1Gi"}}},{"name":"d","resources":{}}],' +
        '"generation":3,"error":"no \\u003croom\\u003e"}',
    );
    assert.match(resizeMessage('Pod resize completed', p, 0), /"generation":0\}$/);
  });
  it('counts what each container is asked to change', () => {
    const before = pod('p', {
      containers: [{ name: 'c', resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2' } } }, { name: 'gone' }],
    });
    const after = pod('p', {
      containers: [{ name: 'c', resources: { requests: { cpu: '500m' }, limits: { cpu: '3', memory: '1Gi' } } }, { name: 'new' }],
    });
    assert.deepEqual(
      requestedResizes(before, after, all).map(({ resource, requirement, operation }) => `${resource} ${requirement} ${operation}`),
      ['memory requests remove', 'memory limits add', 'cpu requests decrease', 'cpu limits increase'],
    );
    assert.deepEqual(requestedResizes(before, before, all), []);
  });
  it('puts priorities into buckets', () => {
    const buckets = [2_000_001_000, 100_000, 1, 0, -1, -999, -1000].map(priorityBucket);
    assert.deepEqual(buckets, ['system-critical', 'high', 'medium', 'normal', 'low', 'low', 'very-low']);
    assert.equal(priorityBucket(undefined), 'normal');
  });
});
