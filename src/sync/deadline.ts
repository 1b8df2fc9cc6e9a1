import type { Pod } from '../api/types.ts';

/** What a pod shows, and what is told, once its time is up (contract: pod-lifecycle §17, events.md §5). */
export const deadlineExceeded = {
  phase: 'Failed' as const,
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Milliseconds until a pod's activeDeadlineSeconds are over, at most 0 once they are; undefined without a deadline or
 * before the pod has a start time. `startTime` is RFC 3339, `nowMs` wall-clock milliseconds.
 */
export function deadlineRemainingMs(pod: Pod, startTime: string | null | undefined, nowMs: number): number | undefined {
  const seconds = pod.spec.activeDeadlineSeconds;
  if (typeof seconds !== 'number' || typeof startTime !== 'string') return undefined;
  const start = Date.parse(startTime);
  return Number.isNaN(start) ? undefined : start + seconds * 1000 - nowMs;
}
