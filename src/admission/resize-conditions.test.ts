import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/types.ts';
import { ResizeConditions } from './resize-conditions.ts';
import { noResizeMetrics } from './resize-metrics.ts';

function scene() {
  let now = Date.UTC(2026, 0, 1);
  const told: string[] = [];
  const conditions = new ResizeConditions({
    now: () => now,
    nowIso: () => new Date(now).toISOString(),
    metrics: {
      ...noResizeMetrics,
      resizesNow: (pending, running) => told.push(`${pending.map((p) => `${p.reason} ${p.bucket} ${p.count}`).join()} / ${running}`),
      deferredFor: (how, bucket, seconds) => told.push(`${how} ${bucket} ${seconds}`),
    },
  });
  return { conditions, told, pass: (seconds: number) => (now += seconds * 1000) };
}
const pod = (generation: number, more: Partial<Pod> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u', generation },
  spec: { containers: [] },
  ...more,
});

describe('PodResizePending', () => {
  it('is news when its reason or its generation changes, and is dated by its reason', () => {
    const { conditions, pass } = scene();
    assert.equal(conditions.setPending(pod(2), 'Deferred', 'no room'), true);
    pass(5);
    assert.equal(conditions.setPending(pod(2), 'Deferred', 'still none'), false);
    const [deferred] = conditions.list('u');
    assert.deepEqual(
      [deferred?.message, deferred?.lastTransitionTime, deferred?.lastProbeTime, deferred?.observedGeneration],
      ['still none', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:05.000Z', 2],
    );
    assert.equal(conditions.setPending(pod(3), 'Deferred', 'no room'), true);
    assert.equal(conditions.setPending(pod(3), 'Infeasible', 'never'), true);
    assert.deepEqual([conditions.isDeferred('u'), conditions.isInfeasible('u')], [false, true]);
    assert.equal(conditions.list('u')[0]?.lastTransitionTime, '2026-01-01T00:00:05.000Z');
  });
  it('is counted, and how long it lasted', () => {
    const { conditions, told, pass } = scene();
    conditions.setPending(pod(1), 'Deferred', '');
    pass(7);
    conditions.clearPending('u', 'accepted');
    conditions.clearPending('u', 'accepted');
    assert.deepEqual(told, ['deferred normal 1 / 0', 'accepted normal 7', ' / 0']);
  });
});

describe('PodResizeInProgress', () => {
  it('keeps its generation, and its fault until another is told', () => {
    const { conditions } = scene();
    assert.deepEqual(conditions.setInProgress(pod(2)), { generation: 2, changed: true });
    assert.deepEqual(conditions.setInProgress(pod(3), 'Error', 'x'), { generation: 2, changed: true });
    assert.deepEqual(conditions.setInProgress(pod(3), 'Error', 'x'), { generation: 2, changed: false });
    assert.deepEqual(conditions.setInProgress(pod(3)), { generation: 2, changed: false });
    assert.deepEqual(conditions.setInProgress(pod(3), 'Error', 'y'), { generation: 2, changed: true });
    assert.equal(conditions.clearInProgress('u'), 2);
    assert.equal(conditions.clearInProgress('u'), undefined);
  });
  it('stands beside the other one', () => {
    const { conditions } = scene();
    conditions.setInProgress(pod(2));
    conditions.setPending(pod(3), 'Deferred', '');
    assert.deepEqual(
      conditions.list('u').map((c) => c.type),
      ['PodResizePending', 'PodResizeInProgress'],
    );
    conditions.end('u');
    assert.deepEqual(conditions.list('u'), []);
  });
  it('is taken over from the API server', () => {
    const { conditions } = scene();
    const c = { type: 'PodResizeInProgress', status: 'True' as const, observedGeneration: 4, reason: 'Error', message: 'm' };
    conditions.backfill(pod(4, { status: { conditions: [c, { type: 'Ready', status: 'True' }] } }));
    assert.deepEqual(conditions.list('u'), [c]);
  });
});
