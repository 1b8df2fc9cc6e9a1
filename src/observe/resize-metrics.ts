import type { Metrics } from './metrics.ts';

/** Bounds in milliseconds and seconds. Contract: metrics.md, keys R and D. */
const resizeBuckets = [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000];
const deferredBuckets = [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600];

/** Counts of in-place resizes, on a registry. Names and labels: contract metrics.md §1a. */
export function resizeMetrics(metrics: Metrics) {
  const requested = metrics.counter('kubelet_container_requested_resizes_total', '[ALPHA] Resizes asked for, by container', [
    'resource',
    'requirement',
    'operation',
  ]);
  const pending = metrics.gauge('kubelet_pod_pending_resizes', '[ALPHA] Resizes that wait', ['reason', 'priority_bucket']);
  const inProgress = metrics.gauge('kubelet_pod_in_progress_resizes', '[ALPHA] Resizes that are allocated and not yet in force');
  const infeasible = metrics.counter('kubelet_pod_infeasible_resizes_total', '[ALPHA] Resizes that are not possible here', [
    'reason_detail',
  ]);
  const accepted = metrics.counter('kubelet_pod_deferred_accepted_resizes_total', '[ALPHA] Resizes accepted after they had waited', [
    'retry_trigger',
  ]);
  const deferred = metrics.histogram(
    'kubelet_pod_deferred_resize_duration_seconds',
    '[ALPHA] How long resizes waited',
    ['resolution', 'priority_bucket'],
    deferredBuckets,
  );
  const duration = metrics.histogram(
    'kubelet_pod_resize_duration_milliseconds',
    '[ALPHA] Time to bring a resize into force',
    ['success'],
    resizeBuckets,
  );
  return {
    requested: (resource: string, requirement: string, operation: string) => requested.inc({ resource, requirement, operation }),
    resizesNow(counts: readonly { reason: string; bucket: string; count: number }[], now: number): void {
      pending.reset();
      for (const { reason, bucket, count } of counts) pending.set(count, { reason, priority_bucket: bucket });
      inProgress.set(now);
    },
    infeasible: (detail: string) => infeasible.inc({ reason_detail: detail }),
    deferredAccepted: (trigger: string) => accepted.inc({ retry_trigger: trigger }),
    deferredFor: (resolution: string, bucket: string, seconds: number) =>
      deferred.observe(seconds, { resolution, priority_bucket: bucket }),
    actuated: (milliseconds: number, success: boolean) => duration.observe(milliseconds, { success: String(success) }),
  };
}
