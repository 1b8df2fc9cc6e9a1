/** Memory that the classes above keep from those below (qosReserved). Source: contract node.md §4. */
export interface QosReserve {
  /** Of the requests of a class, 0 to 100. */
  percent: number;
  /** Bytes that all pods may have: capacity without what is reserved for the system and the agent. */
  allocatable: number;
}

/** Limits in bytes: Burstable pods leave what Guaranteed ones asked for, BestEffort ones what both asked for. */
export function qosMemoryLimits(
  { percent, allocatable }: QosReserve,
  requests: { guaranteed: number; burstable: number },
): { burstable: number; bestEffort: number } {
  const kept = (bytes: number) => Math.trunc((bytes * percent) / 100);
  const burstable = Math.max(0, allocatable - kept(requests.guaranteed));
  return { burstable, bestEffort: Math.max(0, burstable - kept(requests.burstable)) };
}

/** `50%` as 50; undefined where nothing is reserved. */
export function qosReservePercent(qosReserved: Readonly<Record<string, string>>): number | undefined {
  const text = Object.hasOwn(qosReserved, 'memory') ? (qosReserved['memory'] ?? '') : '';
  return /^\d{1,3}%$/.test(text) ? Number(text.slice(0, -1)) : undefined;
}
