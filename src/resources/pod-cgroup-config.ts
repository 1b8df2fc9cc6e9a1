import { getPodQOS } from '../api/qos.ts';
import { Quantity, QuantityError } from '../api/quantity.ts';
import { isPodLevelResourcesSet, podLimits, podRequests, quantityOf, type Resources } from '../api/resources.ts';
import type { Pod } from '../api/types.ts';
import { MIN_SHARES, milliCpuToQuota, milliCpuToShares } from './cpu.ts';

/** What a pod's cgroup is set to. Source: vectors pod-cgroup-resources. Bytes above 2^53 lose their last digits. */
export interface PodCgroupConfig {
  cpuShares: number;
  /** Microseconds a period; -1 is unlimited. Absent: not set. */
  cpuQuota?: number;
  /** Microseconds. */
  cpuPeriod?: number;
  /** Bytes. Absent: not set. */
  memory?: number;
  /** Page size in bytes to limit in bytes. */
  hugePageLimit: Map<number, number>;
  /** cgroup v2 files and what is written there. */
  unified?: Record<string, string>;
}

export interface PodCgroupOptions {
  enforceCpuLimits: boolean;
  /** Microseconds. */
  cpuPeriod: number;
  enforceMemoryQoS: boolean;
  memoryReservationPolicy: string;
}

/** Bytes by huge page size (bytes); names whose size cannot be read are left out. */
export function hugePageLimits(resources: Resources): Map<number, number> {
  const limits = new Map<number, number>();
  for (const [name, quantity] of resources) {
    const size = name.startsWith('hugepages-') ? pageSize(name.slice('hugepages-'.length)) : 0;
    if (size > 0) limits.set(size, (limits.get(size) ?? 0) + Number(quantity.value()));
  }
  return limits;
}

function pageSize(text: string): number {
  try {
    return Number(Quantity.parse(text).value());
  } catch (error) {
    if (error instanceof QuantityError) return 0;
    throw error;
  }
}

/** A limit holds for the pod when every container has one, or the pod itself. */
function isLimitDeclared(pod: Pod, resource: string): boolean {
  if (isPodLevelResourcesSet(pod) && !quantityOf(pod.spec.resources?.limits, resource).isZero()) return true;
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return containers.every((c) => !quantityOf(c.resources?.limits, resource).isZero());
}

/** The settings of a pod's cgroup, from its allocated resources. */
export function podCgroupConfig(pod: Pod, options: PodCgroupOptions): PodCgroupConfig {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const qos = getPodQOS(pod);
  const config: PodCgroupConfig = { cpuShares: MIN_SHARES, hugePageLimit: hugePageLimits(requests) };
  const setLimits = qos === 'Guaranteed' ? () => true : (resource: string) => isLimitDeclared(pod, resource);
  if (qos === 'Guaranteed' || qos === 'Burstable') {
    config.cpuShares = milliCpuToShares(Number(requests.get('cpu')?.milliValue() ?? 0n));
    if (setLimits('cpu')) {
      const milliCpu = Number(limits.get('cpu')?.milliValue() ?? 0n);
      config.cpuQuota = options.enforceCpuLimits ? milliCpuToQuota(milliCpu, options.cpuPeriod) : -1;
      config.cpuPeriod = options.cpuPeriod;
    }
    if (setLimits('memory')) config.memory = Number(limits.get('memory')?.value() ?? 0n);
  }
  const request = requests.get('memory')?.value() ?? 0n;
  if (options.enforceMemoryQoS && options.memoryReservationPolicy === 'TieredReservation' && request > 0n) {
    config.unified = { [qos === 'Guaranteed' ? 'memory.min' : 'memory.low']: request.toString() };
  }
  return config;
}

/**
 * memory.high of a pod with resources of its own: between request and limit, by the throttling factor, in whole pages.
 * Undefined where none is set. Source: KEP-2570.
 */
export function podLevelMemoryHigh(pod: Pod, throttlingFactor: number, pageBytes: number): string | undefined {
  if (!isPodLevelResourcesSet(pod) || !isLimitDeclared(pod, 'memory')) return undefined;
  const request = Number(podRequests(pod).get('memory')?.value() ?? 0n);
  const limit = Number(podLimits(pod).get('memory')?.value() ?? 0n);
  if (limit === 0 || (request === limit && request !== 0)) return undefined;
  const high = Math.trunc(Math.floor(request + (limit - request) * throttlingFactor) / pageBytes) * pageBytes;
  return high > 0 && high > request ? BigInt(high).toString() : undefined;
}
