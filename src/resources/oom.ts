import { isNodeCriticalPod, isRestartableInitContainer } from '../api/pod.ts';
import { getPodQOS } from '../api/qos.ts';
import { aggregateContainerRequests, isPodLevelRequestsSet, quantityOf } from '../api/resources.ts';
import type { Container, Pod } from '../api/types.ts';

/** Source: vectors oom-score-adj; contract pod-lifecycle.md §13. */

export const KUBELET_OOM_SCORE_ADJ = -999;
const GUARANTEED = -997;
const BEST_EFFORT = 1000;
/** Below every burstable container stand the guaranteed ones, whose score can reach 3. */
const BURSTABLE_MIN = 1000 + GUARANTEED;

const memoryRequest = (container: Container): bigint => quantityOf(container.resources?.requests, 'memory').value();

/** Pod-level memory that no container claims, split evenly. */
function unclaimedPerContainer(pod: Pod): bigint {
  const podRequest = quantityOf(pod.spec.resources?.requests, 'memory').value();
  const containers = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  if (!isPodLevelRequestsSet(pod) || podRequest === 0n || containers === 0) return 0n;
  const claimed = aggregateContainerRequests(pod).get('memory')?.value() ?? 0n;
  return podRequest > claimed ? (podRequest - claimed) / BigInt(containers) : 0n;
}

function isSidecarOf(pod: Pod, container: Container): boolean {
  return isRestartableInitContainer(container) && (pod.spec.initContainers ?? []).some((c) => c.name === container.name);
}

/**
 * The oom_score_adj of a container's processes: the less of the node's memory a burstable container requests, the sooner
 * it is killed; a sidecar never before the pod's own containers. `memoryCapacity` is in bytes and above 0.
 */
export function oomScoreAdjust(pod: Pod, container: Container, memoryCapacity: bigint | number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED;
  const qos = getPodQOS(pod);
  if (qos === 'Guaranteed') return GUARANTEED;
  if (qos === 'BestEffort') return BEST_EFFORT;

  const capacity = BigInt(memoryCapacity);
  if (capacity <= 0n) throw new Error(`the node's memory capacity is ${capacity} bytes`);
  const extra = unclaimedPerContainer(pod);
  const score = (request: bigint): bigint => 1000n - (1000n * (request + extra)) / capacity;
  let adjust = score(memoryRequest(container));
  if (isSidecarOf(pod, container) && pod.spec.containers.length > 0) {
    // The container that requests least has the highest score.
    const scores = pod.spec.containers.map((c) => score(memoryRequest(c)));
    if (scores.every((s) => s < adjust)) adjust = scores.toSorted((a, b) => Number(b - a))[0] ?? adjust;
  }
  if (adjust < BigInt(BURSTABLE_MIN)) return BURSTABLE_MIN;
  return adjust === BigInt(BEST_EFFORT) ? BEST_EFFORT - 1 : Number(adjust);
}
