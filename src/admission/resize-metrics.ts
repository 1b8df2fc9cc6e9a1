export type DeferredResolution = 'accepted' | 'reverted' | 'terminated';

/** What made the agent look at the pending resizes. */
export type RetryTrigger = 'pod_resized' | 'pod_updated' | 'pods_added' | 'pods_removed' | 'pod_terminated' | 'periodic_retry';

/** What is counted of resizes. Names and labels: contract metrics.md §1a. */
export interface ResizeMetrics {
  /** kubelet_container_requested_resizes_total. */
  requested(resource: 'cpu' | 'memory', requirement: 'requests' | 'limits', operation: string): void;
  /** kubelet_pod_pending_resizes and kubelet_pod_in_progress_resizes, as they are now. */
  resizesNow(pending: readonly { reason: string; bucket: string; count: number }[], inProgress: number): void;
  /** kubelet_pod_infeasible_resizes_total. */
  infeasible(detail: string): void;
  /** kubelet_pod_deferred_accepted_resizes_total. */
  deferredAccepted(trigger: RetryTrigger): void;
  /** kubelet_pod_deferred_resize_duration_seconds. */
  deferredFor(resolution: DeferredResolution, bucket: string, seconds: number): void;
  /** kubelet_pod_resize_duration_milliseconds. */
  actuated(milliseconds: number, success: boolean): void;
}

/** Counts nothing: for tests and the simulated world. */
export const noResizeMetrics: ResizeMetrics = {
  requested() {},
  resizesNow() {},
  infeasible() {},
  deferredAccepted() {},
  deferredFor() {},
  actuated() {},
};

/** The class of a pod's priority that the metrics show. */
export function priorityBucket(priority: number | undefined): string {
  const p = priority ?? 0;
  if (p >= 2_000_000_000) return 'system-critical';
  if (p >= 100_000) return 'high';
  if (p > 0) return 'medium';
  if (p === 0) return 'normal';
  return p > -1000 ? 'low' : 'very-low';
}
