import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';
import { resizeMetrics } from './resize-metrics.ts';

test('resizes are counted under the names and labels of the contract', async () => {
  const registry = createMetrics();
  const metrics = resizeMetrics(registry);
  metrics.requested('cpu', 'limits', 'add');
  metrics.resizesNow([{ reason: 'deferred', bucket: 'high', count: 3 }], 1);
  metrics.resizesNow([{ reason: 'infeasible', bucket: 'normal', count: 2 }], 4);
  metrics.infeasible('swap_limitation');
  metrics.deferredAccepted('pods_removed');
  metrics.deferredFor('accepted', 'normal', 12);
  metrics.actuated(70, true);
  const text = await registry.text();
  for (const line of [
    'kubelet_container_requested_resizes_total{resource="cpu",requirement="limits",operation="add"} 1',
    'kubelet_pod_pending_resizes{reason="infeasible",priority_bucket="normal"} 2',
    'kubelet_pod_in_progress_resizes 4',
    'kubelet_pod_infeasible_resizes_total{reason_detail="swap_limitation"} 1',
    'kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pods_removed"} 1',
    'kubelet_pod_deferred_resize_duration_seconds_bucket{le="15",resolution="accepted",priority_bucket="normal"} 1',
    'kubelet_pod_resize_duration_milliseconds_bucket{le="100",success="true"} 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), line);
  }
  assert.equal(text.includes('priority_bucket="high"'), false, 'what is over is not shown');
});
