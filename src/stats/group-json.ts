import type { ContainerStats as CriContainerStats } from '../cri/types.ts';
import type { CgroupStats } from '../host/cgroups/cgroup-stats.ts';
import type { FilesystemSpace } from '../host/node-usage.ts';
import type { InterfaceCounts } from '../host/process-stats.ts';
import type { GroupSample } from './group.ts';
import type { ContainerStats, FsStats, MemoryStats, NetworkStats } from './summary-types.ts';

/** Figures as /stats/summary has them. Pure. */

export type UsageStats = Pick<ContainerStats, 'cpu' | 'memory' | 'io' | 'swap'>;

export const timeOf = (ms: number) => new Date(ms).toISOString();
export const nanosecondTime = (nanoseconds: bigint) => timeOf(Number(nanoseconds / 1_000_000n));

/** What a group used. A rate that is not known yet is 0, as the real kubelet says. Pressure is there where the kernel counts it. */
export function usageOf({ stats, cpuRate }: Pick<GroupSample, 'stats' | 'cpuRate'>): UsageStats {
  const time = timeOf(stats.atMs);
  const { cpu, ioPsi } = stats;
  return {
    ...(cpu === undefined
      ? {}
      : { cpu: { time, usageNanoCores: cpuRate ?? 0, usageCoreNanoSeconds: cpu.total, ...(cpu.psi && { psi: cpu.psi }) } }),
    ...memoryOf(stats, time),
    ...(ioPsi === undefined ? {} : { io: { time, psi: ioPsi } }),
  };
}

function memoryOf({ memory, limits }: CgroupStats, time: string): Pick<UsageStats, 'memory' | 'swap'> {
  if (memory === undefined) return {};
  const own: MemoryStats = {
    time,
    ...(Number.isFinite(limits.memory) ? { availableBytes: Math.max(0, limits.memory - memory.workingSet) } : {}),
    usageBytes: memory.usage,
    workingSetBytes: memory.workingSet,
    rssBytes: memory.rss,
    pageFaults: memory.pageFaults,
    majorPageFaults: memory.majorPageFaults,
    ...(memory.psi && { psi: memory.psi }),
  };
  const available = Number.isFinite(limits.swap) ? { swapAvailableBytes: Math.max(0, limits.swap - memory.swap) } : {};
  return { memory: own, swap: { time, ...available, swapUsageBytes: memory.swap } };
}

/** What the runtime says of a container whose group the node cannot see. */
export function runtimeUsageOf({ cpu, memory, swap, io }: CriContainerStats): UsageStats {
  const usage: UsageStats = {};
  if (cpu !== undefined) {
    const { timestamp, usageNanoCores, usageCoreNanoSeconds: total, psi: _psi } = cpu;
    usage.cpu = {
      time: nanosecondTime(timestamp),
      ...(usageNanoCores === undefined ? {} : { usageNanoCores }),
      ...(total === undefined ? {} : { usageCoreNanoSeconds: Number(total) }),
    };
  }
  if (memory !== undefined) {
    const { timestamp, psi: _psi, ...values } = memory;
    usage.memory = { time: nanosecondTime(timestamp), ...values };
  }
  if (swap !== undefined) {
    const { timestamp, ...values } = swap;
    usage.swap = { time: nanosecondTime(timestamp), ...values };
  }
  if (io !== undefined) usage.io = { time: nanosecondTime(io.timestamp) };
  return usage;
}

const DEFAULT_INTERFACE = 'eth0';

export function networkOf(interfaces: readonly InterfaceCounts[] | undefined, atMs: number): { network?: NetworkStats } {
  if (interfaces === undefined || interfaces.length === 0) return {};
  const all = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({ name, rxBytes, rxErrors, txBytes, txErrors }));
  return { network: { time: timeOf(atMs), ...all.find((i) => i.name === DEFAULT_INTERFACE), interfaces: all } };
}

/** The whole of a file system, and what is used of it. */
export function filesystemOf(space: FilesystemSpace | undefined, time: string, used: { bytes?: number; inodes?: number }): FsStats {
  return {
    time,
    ...(space === undefined
      ? {}
      : { availableBytes: space.available, capacityBytes: space.capacity, inodesFree: space.inodesFree, inodes: space.inodes }),
    ...(used.bytes === undefined ? {} : { usedBytes: used.bytes }),
    ...(used.inodes === undefined ? {} : { inodesUsed: used.inodes }),
  };
}
