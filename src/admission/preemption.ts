import { isCriticalPod } from '../api/pod.ts';
import { getPodQOS } from '../api/qos.ts';
import type { Pod, PodQOSClass } from '../api/types.ts';
import { type InsufficientResource, requestedAmounts } from './resource-fit.ts';

/** How much of each resource is still missing. CPU in thousandths, the rest in whole units; all above zero. */
type Missing = ReadonlyMap<string, bigint>;

/** True when `pod` may be stopped to make room for `preemptor` (contract: pod-lifecycle.md §19). */
export function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const { priority: high } = preemptor.spec;
  const { priority: low } = pod.spec;
  return typeof high === 'number' && typeof low === 'number' && high > low;
}

/**
 * Which of `others` to stop so that a critical pod gets what it lacks: as few and as unimportant as can be. Guaranteed
 * pods only for what all the others together would not give, then Burstable ones for what all BestEffort ones would
 * not; within a class, one by one, the pod that comes closest to what is missing. Undefined: even all of them are not
 * enough. Pure; the order of the result is BestEffort first. Source: contract pod-lifecycle.md §19.
 */
export function podsToPreempt(preemptor: Pod, others: readonly Pod[], lacks: readonly InsufficientResource[]): Pod[] | undefined {
  const missing: Missing = new Map(lacks.map(({ resource, requested, used, capacity }) => [resource, requested - (capacity - used)]));
  const candidates = others.filter((pod) => isPreemptable(preemptor, pod));
  if (without(missing, candidates).size > 0) return undefined;
  const ofClass = (qos: PodQOSClass) => candidates.filter((pod) => getPodQOS(pod) === qos);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  const fromGuaranteed = closest(guaranteed, without(missing, [...bestEffort, ...burstable]));
  const fromBurstable = closest(burstable, without(missing, [...bestEffort, ...fromGuaranteed]));
  const fromBestEffort = closest(bestEffort, without(missing, [...fromBurstable, ...fromGuaranteed]));
  return [...fromBestEffort, ...fromBurstable, ...fromGuaranteed];
}

/** What is still missing when these pods are gone. */
function without(missing: Missing, pods: readonly Pod[]): Missing {
  const left = [...missing].map(([name, amount]) => [name, pods.reduce((rest, pod) => rest - requestOf(pod, name), amount)] as const);
  return new Map(left.filter(([, amount]) => amount > 0n));
}

/** Takes the best pod again and again until nothing is missing. The pods together are known to be enough. */
function closest(pods: readonly Pod[], missing: Missing): Pod[] {
  const chosen: Pod[] = [];
  const left = [...pods];
  let rest = missing;
  while (rest.size > 0) {
    let best = left[0];
    if (best === undefined) return chosen;
    let bestDistance = distance(rest, best);
    for (const pod of left.slice(1)) {
      const d = distance(rest, pod);
      if (d < bestDistance || (d === bestDistance && isSmaller(pod, best))) [best, bestDistance] = [pod, d];
    }
    chosen.push(best);
    left.splice(left.indexOf(best), 1);
    rest = without(rest, [best]);
  }
  return chosen;
}

/** From 0 (the pod gives all that is missing) to the number of resources (it gives nothing). */
function distance(missing: Missing, pod: Pod): number {
  let sum = 0;
  for (const [name, amount] of missing) {
    const rest = amount - requestOf(pod, name);
    if (rest > 0n) sum += (Number(rest) / Number(amount)) ** 2;
  }
  return sum;
}

function isSmaller(a: Pod, b: Pod): boolean {
  for (const name of ['memory', 'cpu']) {
    const [x, y] = [requestOf(a, name), requestOf(b, name)];
    if (x !== y) return x < y;
  }
  return true;
}

function requestOf(pod: Pod, name: string): bigint {
  return name === 'pods' ? 1n : (requestedAmounts(pod).get(name) ?? 0n);
}
