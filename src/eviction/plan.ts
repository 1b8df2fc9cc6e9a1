import { isCriticalPod } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import { localStorageFault } from './local-storage.ts';
import { evictionMessage } from './messages.ts';
import { type Observations, starvedResource } from './observations.ts';
import { type PodUsage, type RuntimeDisks, rankForEviction } from './ranking.ts';
import { isHard, type Threshold } from './thresholds.ts';

/** A pod to stop, and what is told of it. */
export interface Eviction {
  pod: Pod;
  /** The metric's label: a signal, or the limit that the pod broke. */
  signal: string;
  graceSeconds: number;
  message: string;
  annotations: Readonly<Record<string, string>>;
  /** The pod goes for others' sake, not for a limit of its own: it gets the condition DisruptionTarget. */
  isDisruption: boolean;
}

export interface EvictionPlanInput {
  /** Those that may still hold something. */
  pods: readonly Pod[];
  usageOf(pod: Pod): PodUsage | undefined;
  disks: RuntimeDisks;
}

/** What pods that are stopped at once get. Seconds. */
const ImmediateGrace = 1;

/** All pods that hold more of the disk than their own limits allow; critical ones are spared. */
export function localStorageEvictions({ pods, usageOf, disks }: EvictionPlanInput): Eviction[] {
  return pods.flatMap((pod) => {
    const usage = usageOf(pod);
    if (usage === undefined || isCriticalPod(pod)) return [];
    const fault = localStorageFault(pod, usage, disks);
    return fault === undefined ? [] : [{ ...fault, pod, graceSeconds: ImmediateGrace, annotations: {}, isDisruption: false }];
  });
}

/**
 * The one pod to stop for the first of the thresholds that are acted on: the highest ranked that is not critical.
 * Undefined when there is none. `maxGraceSeconds` bounds the grace at a soft threshold. Source: contract node.md §3.
 */
export function thresholdEviction(
  act: readonly [Threshold, ...Threshold[]],
  { pods, usageOf, disks }: EvictionPlanInput,
  observations: Observations,
  maxGraceSeconds: number,
): Eviction | undefined {
  const [threshold] = act;
  const pod = rankForEviction(threshold.signal, pods, usageOf, disks).find((candidate) => !isCriticalPod(candidate));
  if (pod === undefined) return undefined;
  const soft = Math.min(maxGraceSeconds, pod.spec.terminationGracePeriodSeconds ?? maxGraceSeconds);
  return {
    pod,
    signal: threshold.signal,
    graceSeconds: isHard(threshold) ? ImmediateGrace : soft,
    ...evictionMessage(starvedResource(threshold.signal), pod, usageOf(pod), act, observations),
    isDisruption: true,
  };
}
