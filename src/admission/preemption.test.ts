import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod, ResourceList } from '../api/types.ts';
import { isPreemptable, podsToPreempt } from './preemption.ts';
import { insufficientResources } from './resource-fit.ts';

function pod(name: string, requests: ResourceList, more: { priority?: number; limits?: ResourceList } = {}): Pod {
  const { priority, limits } = more;
  return {
    metadata: { name, namespace: 'ns', uid: name, annotations: { 'kubernetes.io/config.source': 'api' } },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests, ...(limits === undefined ? {} : { limits }) } }],
      ...(priority === undefined ? {} : { priority }),
    },
  };
}
const guaranteed = (name: string, requests: ResourceList) => pod(name, requests, { limits: requests });
const critical = (requests: ResourceList) => pod('critical', requests, { priority: 2_000_000_000 });
const names = (pods: readonly Pod[] | undefined) => pods?.map((p) => p.metadata.name);
const lack = (resource: string, requested: bigint, capacity = 0n) => ({ resource, requested, used: 0n, capacity });

describe('podsToPreempt', () => {
  it('spares Guaranteed pods where the others are enough, and Burstable ones where BestEffort ones are', () => {
    const others = [guaranteed('g', { cpu: '1', memory: '1Gi' }), pod('b', { cpu: '1' }), pod('e', {})];
    assert.deepEqual(names(podsToPreempt(critical({ cpu: '1' }), others, [lack('cpu', 1000n)])), ['b']);
    assert.deepEqual(names(podsToPreempt(critical({}), others, [lack('pods', 1n)])), ['e']);
    assert.deepEqual(names(podsToPreempt(critical({ cpu: '2' }), others, [lack('cpu', 2000n)])), ['b', 'g']);
  });

  it('takes the pod that comes closest to what is missing, and of equal ones the smaller', () => {
    const others = [
      pod('small', { cpu: '1', memory: '1Gi' }),
      pod('fits', { cpu: '3', memory: '2Gi' }),
      pod('big', { cpu: '8', memory: '8Gi' }),
    ];
    assert.deepEqual(names(podsToPreempt(critical({ cpu: '3' }), others, [lack('cpu', 3000n)])), ['fits']);
    assert.deepEqual(names(podsToPreempt(critical({ cpu: '3' }), others, [lack('cpu', 3000n), lack('memory', 4n * 1024n ** 3n)])), ['big']);
  });

  it('counts only what the pod lacks beyond what is free', () => {
    const others = [pod('b', { cpu: '500m' })];
    const lacks = [{ resource: 'cpu', requested: 2000n, used: 500n, capacity: 2000n }];
    assert.deepEqual(names(podsToPreempt(critical({ cpu: '2' }), others, lacks)), ['b']);
  });

  it('gives up where all of them are not enough, and never takes a critical pod', () => {
    const other = pod('other', { cpu: '1' }, { priority: 2_000_000_001 });
    assert.equal(podsToPreempt(critical({ cpu: '1' }), [other], [lack('cpu', 1000n)]), undefined);
    assert.equal(podsToPreempt(critical({ cpu: '5' }), [pod('b', { cpu: '1' })], [lack('cpu', 5000n)]), undefined);
  });

  it('a pod of a higher priority value may take one of a lower, both being critical', () => {
    const [high, low] = [pod('h', {}, { priority: 2_000_001_000 }), pod('l', {}, { priority: 2_000_000_000 })];
    assert.deepEqual([isPreemptable(high, low), isPreemptable(low, high), isPreemptable(high, pod('n', {}))], [true, false, true]);
  });

  it('whatever the pods: what it chooses is enough, and without any one of them it would not be', () => {
    const cpu = fc.integer({ min: 0, max: 4 });
    fc.assert(
      fc.property(fc.array(fc.tuple(cpu, fc.boolean()), { maxLength: 8 }), fc.integer({ min: 1, max: 6 }), (list, wanted) => {
        const others = list.map(([n, full], i) => (full ? guaranteed : pod)(`p${i}`, { cpu: `${n}`, memory: '1' }));
        const used = list.reduce((sum, [n]) => sum + n, 0);
        const preemptor = critical({ cpu: `${wanted}` });
        const room = { cpu: `${Math.max(used, 1)}`, memory: '1Gi', pods: '100' };
        const lacks = insufficientResources(preemptor, others, room);
        if (lacks.length === 0) return;
        const chosen = podsToPreempt(preemptor, others, lacks);
        if (chosen === undefined) {
          assert.ok(insufficientResources(preemptor, [], room).length > 0);
          return;
        }
        assert.deepEqual(
          insufficientResources(
            preemptor,
            others.filter((p) => !chosen.includes(p)),
            room,
          ),
          [],
        );
        assert.equal(new Set(chosen).size, chosen.length);
        assert.equal(
          chosen.some((p) => (p.spec.containers[0]?.resources?.requests?.['cpu'] ?? '0') === '0'),
          false,
        );
      }),
    );
  });
});
