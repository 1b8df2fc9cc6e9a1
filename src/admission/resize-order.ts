import { getPodQOS } from '../api/qos.ts';
import { podRequests } from '../api/resources.ts';
import type { Pod } from '../api/types.ts';

/** A pod whose resize waits, with what its place in the queue depends on. */
export interface PendingResize {
  pod: Pod;
  /** The pod with the resources that it has. */
  allocated: Pod;
  /** RFC 3339; since when it waits, undefined before the first try. */
  since: string | undefined;
}

/**
 * The queue in the order in which it is tried: who asks for less first, as that makes room; then by priority, Guaranteed
 * pods, and the longest wait. Source: contract pod-lifecycle.md §20.
 */
export function orderPending(pending: readonly PendingResize[]): PendingResize[] {
  const ranked = pending.map((p) => ({ p, key: rankOf(p) }));
  ranked.sort((a, b) => {
    for (const [i, x] of a.key.entries()) {
      const y = b.key[i] ?? 0;
      if (x !== y) return x < y ? -1 : 1;
    }
    return 0;
  });
  return ranked.map(({ p }) => p);
}

function rankOf({ pod, allocated, since }: PendingResize): (number | string)[] {
  // Among those that ask for less nothing else matters: each one can be had.
  if (!increases(allocated, pod)) return [0, 0, 0, ''];
  return [1, -(pod.spec.priority ?? 0), getPodQOS(pod) === 'Guaranteed' ? 0 : 1, since ?? '~'];
}

/** True when the pod asks for more CPU or more memory than it has. */
export function increases(allocated: Pod, pod: Pod): boolean {
  const [before, after] = [podRequests(allocated), podRequests(pod)];
  return ['cpu', 'memory'].some((name) => {
    const [old, wanted] = [before.get(name), after.get(name)];
    return wanted !== undefined && (old === undefined ? !wanted.isZero() : wanted.cmp(old) > 0);
  });
}
