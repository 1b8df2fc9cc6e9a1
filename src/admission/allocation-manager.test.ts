import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { PodResourceInfo } from '../api/allocation.ts';
import { podRequests } from '../api/resources.ts';
import type { Pod } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { AllocationManager } from './allocation-manager.ts';
import { ResizeConditions } from './resize-conditions.ts';
import { noResizeMetrics } from './resize-metrics.ts';
import { insufficientResources } from './resource-fit.ts';

const gates = { podLevel: true, initContainers: true };
const pod = (uid: string, milli: number, more: { priority?: number; generation?: number } = {}): Pod => ({
  metadata: { name: uid, namespace: 'n', uid, generation: more.generation ?? 1 },
  spec: {
    containers: [{ name: 'c', resources: { requests: { cpu: `${milli}m` } } }],
    ...(more.priority === undefined ? {} : { priority: more.priority }),
  },
});
const milliOf = (p: Pod) => Number(podRequests(p).get('cpu')?.milliValue() ?? 0n);

/** A node of one CPU. `infeasible`: pods that may never change. */
function scene(infeasible: ReadonlySet<string> = new Set()) {
  const pods = new Map<string, Pod>();
  const allocated = new Map<string, PodResourceInfo>();
  const actuated = new Map<string, PodResourceInfo>();
  const events: string[] = [];
  const synced: string[] = [];
  const counted: string[] = [];
  const stopped: string[] = [];
  let ready = true;
  const metrics = {
    ...noResizeMetrics,
    requested: (...what: string[]) => void counted.push(what.join(' ')),
    infeasible: (detail: string) => void counted.push(detail),
    deferredAccepted: (trigger: string) => void counted.push(`accepted ${trigger}`),
  };
  const conditions = new ResizeConditions({ now: () => 0, nowIso: () => '1970-01-01T00:00:00Z', metrics });
  const manager = new AllocationManager({
    gates,
    allocated: {
      get: (uid) => allocated.get(uid),
      has: (uid) => allocated.has(uid),
      set: (uid, info) => void allocated.set(uid, info),
      remove: (uid) => void allocated.delete(uid),
    },
    actuated: { get: (uid) => actuated.get(uid) },
    conditions,
    metrics,
    log: silentLogger,
    admit: (p, others) => {
      const [lack] = insufficientResources(p, others, { cpu: '1', pods: '110' });
      const preempt = (p.spec.priority ?? 0) >= 2_000_000_000 ? others.filter((other) => other.metadata.uid === 'victim') : [];
      if (lack !== undefined && preempt.length > 0) return { preempt, resource: 'cpu', message: 'no room' };
      return lack === undefined
        ? undefined
        : { reason: `OutOf${lack.resource}`, message: `requested: ${lack.requested}, used: ${lack.used}` };
    },
    preempt: async ({ preempt }) => {
      for (const victim of preempt) pods.delete(victim.metadata.uid);
      stopped.push(...preempt.map((victim) => victim.metadata.uid));
    },
    infeasible: (p) => (infeasible.has(p.metadata.uid) ? { detail: 'never', message: 'not here' } : undefined),
    active: () => [...pods.values()],
    pod: (uid) => pods.get(uid),
    sourcesReady: () => ready,
    sync: (p) => void synced.push(`${p.metadata.uid} ${milliOf(p)}`),
    event: (_p, type, reason) => void events.push(`${type} ${reason}`),
  });
  const scene = {
    manager,
    conditions,
    allocated,
    actuated,
    events,
    synced,
    counted,
    stopped,
    setReady: (is: boolean) => (ready = is),
    has: (uid: string) => milliOf(manager.allocated(pods.get(uid) ?? pod(uid, 0))),
    add(p: Pod): boolean {
      if (manager.add(p, [...pods.values()]) !== undefined) return false;
      pods.set(p.metadata.uid, p);
      manager.added([p]);
      return true;
    },
    update(p: Pod): void {
      const before = pods.get(p.metadata.uid);
      pods.set(p.metadata.uid, p);
      manager.updated(before, p);
    },
    remove(uid: string): void {
      pods.delete(uid);
      manager.removed(uid);
    },
    total: () => [...pods.values()].reduce((sum, p) => sum + milliOf(manager.allocated(p)), 0),
    pods,
  };
  return scene;
}

describe('AllocationManager', () => {
  it('allocates what fits, and says so', () => {
    const s = scene();
    s.add(pod('a', 200));
    s.update(pod('a', 500, { generation: 2 }));
    assert.equal(s.has('a'), 500);
    assert.deepEqual(s.events, ['Normal ResizeStarted']);
    assert.deepEqual(s.synced, ['a 500']);
    assert.deepEqual(s.counted, ['cpu requests increase']);
    assert.deepEqual(
      s.conditions.list('a').map((c) => [c.type, c.observedGeneration]),
      [['PodResizeInProgress', 2]],
    );
  });

  it('defers what does not fit now, also what never can, until there is room', () => {
    const s = scene();
    s.add(pod('a', 400));
    s.add(pod('b', 400));
    s.update(pod('a', 700, { generation: 2 }));
    assert.equal(s.has('a'), 400);
    const [pending] = s.conditions.list('a');
    assert.deepEqual([pending?.type, pending?.reason, pending?.message], ['PodResizePending', 'Deferred', 'requested: 700, used: 400']);
    assert.deepEqual(s.events, ['Warning ResizeDeferred']);
    assert.deepEqual(s.synced, ['a 400'], 'the condition is to be shown');
    s.manager.retry('periodic_retry');
    assert.equal(s.events.length, 1, 'told once');
    s.remove('b');
    assert.equal(s.has('a'), 700);
    assert.deepEqual(s.counted, ['cpu requests increase', 'accepted pods_removed']);
    s.update(pod('a', 5000, { generation: 3 }));
    assert.equal(s.conditions.isDeferred('a'), true);
  });

  it('gives up on what is impossible, until the spec changes', () => {
    const s = scene(new Set(['a']));
    s.add(pod('a', 100));
    s.update(pod('a', 200, { generation: 2 }));
    assert.deepEqual(s.events, ['Warning ResizeInfeasible']);
    assert.equal(s.manager.hasPending(), false);
    s.update(pod('a', 100, { generation: 3 }));
    assert.deepEqual(s.conditions.list('a'), []);
    assert.equal(s.has('a'), 100);
  });

  it('takes a resize back', () => {
    const s = scene();
    s.add(pod('a', 600));
    s.add(pod('b', 300));
    s.update(pod('b', 900, { generation: 2 }));
    s.update(pod('b', 300, { generation: 3 }));
    assert.deepEqual(s.conditions.list('b'), []);
    s.remove('a');
    assert.equal(s.has('b'), 300);
  });

  it('a decrease of one pod makes room for another that waits', () => {
    const s = scene();
    s.add(pod('a', 600));
    s.add(pod('b', 400));
    s.update(pod('b', 600, { generation: 2 }));
    s.update(pod('a', 300, { generation: 2 }));
    assert.deepEqual([s.has('a'), s.has('b')], [300, 600]);
  });

  it('serves by priority', () => {
    const s = scene();
    s.add(pod('big', 700));
    s.add(pod('low', 100));
    s.add(pod('high', 100, { priority: 10 }));
    s.update(pod('low', 800, { generation: 2 }));
    s.update(pod('high', 800, { generation: 2, priority: 10 }));
    s.remove('big');
    assert.deepEqual([s.has('low'), s.has('high')], [100, 800]);
  });

  it('after a restart the allocation wins over the spec, and the difference is a resize', () => {
    const s = scene();
    s.allocated.set('a', { containers: { c: { requests: { cpu: '200m' } } } });
    s.allocated.set('b', { containers: { c: { requests: { cpu: '500m' } } } });
    s.setReady(false);
    assert.ok(s.add(pod('a', 900, { generation: 2 })), 'what it has fits');
    assert.ok(s.add(pod('b', 500)));
    assert.equal(s.has('a'), 200);
    assert.deepEqual(s.events, [], 'nothing is decided before all sources have spoken');
    s.setReady(true);
    s.manager.retry('periodic_retry');
    assert.equal(s.conditions.isDeferred('a'), true);
    s.remove('b');
    assert.equal(s.has('a'), 900);
  });

  it('is complete when what runs has its size', () => {
    const s = scene();
    s.add(pod('a', 200));
    s.update(pod('a', 300, { generation: 2 }));
    const resized = pod('a', 300, { generation: 2 });
    s.actuated.set('a', { containers: { c: { requests: { cpu: '200m' } } } });
    s.manager.check(resized, () => true);
    s.manager.failed(resized, 'busy');
    s.manager.failed(resized, 'busy');
    assert.equal(s.conditions.list('a')[0]?.reason, 'Error');
    s.actuated.set('a', { containers: { c: { requests: { cpu: '300m' } } } });
    s.manager.check(resized, () => true);
    s.manager.check(resized, () => true);
    assert.deepEqual(s.conditions.list('a'), []);
    assert.deepEqual(s.events, ['Normal ResizeStarted', 'Warning ResizeError', 'Normal ResizeCompleted']);
  });

  it('a critical pod that asks for more has others stopped for it, and waits meanwhile', async () => {
    const s = scene();
    s.add(pod('victim', 800));
    s.add(pod('a', 100, { priority: 2_000_000_000 }));
    s.update(pod('a', 600, { generation: 2, priority: 2_000_000_000 }));
    assert.equal(s.conditions.list('a')[0]?.message, 'no room');
    await Promise.resolve();
    await Promise.resolve();
    assert.deepEqual([s.stopped, s.has('a')], [['victim'], 600]);
  });

  it('does not touch pods that were refused', () => {
    const s = scene();
    assert.equal(s.add(pod('a', 2000)), false);
    s.manager.updated(pod('a', 2000), pod('a', 100));
    assert.equal(s.allocated.has('a'), false);
  });

  it('never gives out more than the node has, whatever comes in whatever order; and nobody waits for what is free', () => {
    const uid = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const milli = fc.integer({ min: 0, max: 1200 });
    const act = fc.oneof(
      fc.record({ do: fc.constant('add' as const), uid, milli, priority: fc.integer({ min: 0, max: 2 }) }),
      fc.record({ do: fc.constant('resize' as const), uid, milli }),
      fc.record({ do: fc.constant('remove' as const), uid }),
      fc.record({ do: fc.constant('retry' as const) }),
      fc.record({ do: fc.constant('unready' as const) }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const s = scene();
        let generation = 1;
        for (const a of acts) {
          const known = 'uid' in a ? s.pods.get(a.uid) : undefined;
          if (a.do === 'add' && known === undefined) s.add(pod(a.uid, a.milli, { priority: a.priority }));
          else if (a.do === 'resize' && known !== undefined) {
            const priority = known.spec.priority;
            s.update(pod(a.uid, a.milli, { generation: ++generation, ...(priority === undefined ? {} : { priority }) }));
          } else if (a.do === 'remove' && known !== undefined) s.remove(a.uid);
          else if (a.do === 'retry') {
            s.setReady(true);
            s.manager.retry('periodic_retry');
          } else if (a.do === 'unready') s.setReady(false);
          assert.ok(s.total() <= 1000, `${s.total()} of 1000 given out`);
        }
        s.setReady(true);
        s.manager.retry('periodic_retry');
        for (const [id, p] of s.pods) {
          const wanted = milliOf(p);
          if (s.has(id) === wanted) continue;
          assert.ok(s.conditions.isDeferred(id), `${id} waits without a word`);
          assert.ok(s.total() - s.has(id) + wanted > 1000, `${id} waits although there is room`);
        }
      }),
      { numRuns: 400 },
    );
  });
});
