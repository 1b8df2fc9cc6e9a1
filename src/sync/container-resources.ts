import { isCriticalPod } from '../api/pod.ts';
import { getPodQOS } from '../api/qos.ts';
import type { Quantity } from '../api/quantity.ts';
import { isPodLevelResourcesSet, podLimits, podRequests, quantityOf, resourcesOf } from '../api/resources.ts';
import type { Container, Pod, ResourceList } from '../api/types.ts';
import type { LinuxContainerResources } from '../cri/types.ts';
import { hugepageUnit } from '../host/cgroups/hugetlb.ts';
import { milliCpuToQuota, milliCpuToShares } from '../resources/cpu.ts';
import { oomScoreAdjust } from '../resources/oom.ts';
import { hugePageLimits } from '../resources/pod-cgroup-config.ts';
import type { NodeSettings } from './node-settings.ts';

const Unlimited = -1;

/**
 * The resources of a container as the runtime enforces them. `exclusiveCpus`: it owns whole CPUs, so that no quota
 * holds it back. `allocatable` is the node's, for memory.high without a limit. Source: contract pod-lifecycle.md §13.
 */
export function containerResources(
  pod: Pod,
  container: Container,
  node: NodeSettings,
  more: { exclusiveCpus?: boolean; allocatable: ResourceList },
): LinuxContainerResources {
  const cpuLimit = effectiveLimit(pod, container, 'cpu');
  const memoryLimit = Number(effectiveLimit(pod, container, 'memory').value());
  const { requests } = container.resources ?? {};
  const cpuRequest = requests && Object.hasOwn(requests, 'cpu') ? quantityOf(requests, 'cpu') : cpuLimit;
  const basic = linuxResources(cpuRequest, cpuLimit, memoryLimit, node, more.exclusiveCpus === true);
  const unified = { ...basic.unified, ...swapFiles(pod, container, node), ...memoryFiles(pod, container, node, more.allocatable) };
  return {
    ...basic,
    oomScoreAdj: oomScoreAdjust(pod, container, node.memory),
    hugepageLimits: hugepages(pod, container, node),
    // v1: memory and swap together; equal to the memory limit means no swap. Without a limit there is nothing to equal.
    ...(node.cgroupVersion === 1 && node.swapControllerAvailable && memoryLimit !== 0 ? { memorySwapLimitInBytes: memoryLimit } : {}),
    ...(Object.keys(unified).length > 0 ? { unified } : {}),
  };
}

/** The resources of all containers together, for runtimes that size the sandbox by them. */
export function sandboxResources(pod: Pod, node: NodeSettings, exclusiveCpus = false): LinuxContainerResources {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  const cpuLimit = limits.get('cpu') ?? quantityOf(undefined, 'cpu');
  return linuxResources(requests.get('cpu') ?? cpuLimit, cpuLimit, Number(limits.get('memory')?.value() ?? 0n), node, exclusiveCpus);
}

/** The RuntimeClass overhead, which counts as request and limit at once; empty without one. */
export function sandboxOverhead(pod: Pod, node: NodeSettings): LinuxContainerResources {
  const { overhead } = pod.spec;
  if (overhead === undefined || overhead === null) return {};
  const cpu = quantityOf(overhead, 'cpu');
  return linuxResources(cpu, cpu, Number(quantityOf(overhead, 'memory').value()), node, false);
}

function linuxResources(
  cpuRequest: Quantity,
  cpuLimit: Quantity,
  memoryLimit: number,
  node: NodeSettings,
  exclusiveCpus: boolean,
): LinuxContainerResources {
  const cpuPeriod = node.cpuCFSQuotaPeriodUs;
  const cpuQuota = exclusiveCpus ? Unlimited : milliCpuToQuota(Number(cpuLimit.milliValue()), cpuPeriod);
  return {
    cpuShares: milliCpuToShares(Number(cpuRequest.milliValue())),
    ...(node.cpuCFSQuota ? { cpuQuota, cpuPeriod } : {}),
    ...(memoryLimit === 0 ? {} : { memoryLimitInBytes: memoryLimit }),
    ...(node.cgroupVersion === 2 && !node.singleProcessOOMKill ? { unified: { 'memory.oom.group': '1' } } : {}),
  };
}

/** The container's limit, or the pod's where the container has none. */
function effectiveLimit(pod: Pod, container: Container, name: 'cpu' | 'memory'): Quantity {
  const own = quantityOf(container.resources?.limits, name);
  return own.isZero() && isPodLevelResourcesSet(pod) ? quantityOf(pod.spec.resources?.limits, name) : own;
}

/** One entry for every page size of the node: huge pages are never handed out unasked. */
function hugepages(pod: Pod, container: Container, node: NodeSettings): { pageSize: string; limit: number }[] {
  const limits = new Map([
    ...hugePageLimits(resourcesOf(pod.spec.resources?.limits)),
    ...hugePageLimits(resourcesOf(container.resources?.limits)),
  ]);
  return node.hugepageSizes.map((size) => ({ pageSize: hugepageUnit(size), limit: limits.get(size) ?? 0 }));
}

/** v2: how much a container may swap. */
function swapFiles(pod: Pod, container: Container, node: NodeSettings): Record<string, string> {
  if (node.cgroupVersion !== 2 || !node.swapControllerAvailable) return {};
  return { 'memory.swap.max': maySwap(pod, container, node) ? swapShare(container, node) : '0' };
}

/** A Burstable, non-critical container whose memory request differs from its limit. */
export function maySwap(pod: Pod, container: Container, node: NodeSettings): boolean {
  if (node.swapBehavior !== 'LimitedSwap' || isCriticalPod(pod) || getPodQOS(pod) !== 'Burstable') return false;
  const request = quantityOf(container.resources?.requests, 'memory');
  return !request.equals(quantityOf(container.resources?.limits, 'memory'));
}

/** The node's swap in proportion to the memory request. */
function swapShare(container: Container, node: NodeSettings): string {
  const request = Number(quantityOf(container.resources?.requests, 'memory').value());
  if (node.memory <= 0 || request > node.memory) return '0';
  return String(Math.trunc((request / node.memory) * node.swap));
}

/** v2: memory protected for the container, and the mark at which it is slowed down (KEP-2570). */
function memoryFiles(pod: Pod, container: Container, node: NodeSettings, allocatable: ResourceList): Record<string, string> {
  if (node.cgroupVersion !== 2) return {};
  // A mark that an earlier configuration left must go.
  if (!node.memoryQoS) return { 'memory.high': 'max' };
  const request = Number(quantityOf(container.resources?.requests, 'memory').value());
  const files: Record<string, string> =
    request !== 0 && node.memoryReservationPolicy === 'TieredReservation'
      ? { [getPodQOS(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) }
      : { 'memory.min': '0', 'memory.low': '0' };
  const high = memoryHigh(pod, container, request, node, allocatable);
  return high === undefined ? files : { ...files, 'memory.high': String(high) };
}

function memoryHigh(pod: Pod, container: Container, request: number, node: NodeSettings, allocatable: ResourceList): number | undefined {
  const factor = node.memoryThrottlingFactor;
  const limit = Number(quantityOf(container.resources?.limits, 'memory').value());
  if (factor === undefined || (request === limit && request !== 0)) return undefined;
  // The pod's own group holds the mark then.
  if (limit === 0 && !quantityOf(pod.spec.resources?.limits, 'memory').isZero()) return undefined;
  const ceiling = limit !== 0 ? limit : Number(quantityOf(allocatable, 'memory').value());
  if (ceiling <= 0) return undefined;
  const high = Math.floor((request + (ceiling - request) * factor) / node.pageSize) * node.pageSize;
  return high > request ? high : undefined;
}
