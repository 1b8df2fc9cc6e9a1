import type { ContainerStats as CriContainerStats } from '../cri/types.ts';
import type { FilesystemSpace } from '../host/node-usage.ts';
import type { ObservedContainer, ObservedPod } from '../pleg/types.ts';
import type { GroupSample } from './group.ts';
import { filesystemOf, nanosecondTime, networkOf, runtimeUsageOf, timeOf, type UsageStats, usageOf } from './group-json.ts';
import type { ContainerStats, FsStats, PodStats, VolumeStats } from './summary-types.ts';

/** Bytes and inodes in use by files. */
export interface FilesUsage {
  bytes: number;
  inodes: number;
}

export function sumOfFiles(parts: readonly FilesUsage[]): FilesUsage {
  return parts.reduce((sum, part) => ({ bytes: sum.bytes + part.bytes, inodes: sum.inodes + part.inodes }), { bytes: 0, inodes: 0 });
}

/** What of the disk is a pod's, beside its containers' writable layers. */
export interface PodDiskUsage {
  /** Logs of each container by its name. */
  logs: ReadonlyMap<string, FilesUsage>;
  /** Files directly in the pod's log directory. */
  podLogs: FilesUsage;
  /** Files that the node keeps for the pod: its hosts file, termination logs. */
  nodeFiles: FilesUsage;
  volumes: readonly MeasuredVolume[];
}

/** A volume, and whether its bytes are the node's own disk (emptyDir, configMap, …) or somebody else's (a claim). */
export interface MeasuredVolume {
  stats: VolumeStats;
  ephemeral: boolean;
}

export interface PodSummaryInput {
  pod: ObservedPod;
  /** Of this pod. */
  samples: readonly GroupSample[];
  /** What the runtime measured, by container id. */
  runtime: ReadonlyMap<string, CriContainerStats>;
  nowMs: number;
  /** Undefined: CPU and memory only. */
  disk?: {
    usage: PodDiskUsage;
    /** The node's file system. */
    node: FilesystemSpace | undefined;
    /** The file system of containers' writable layers. */
    containers: FilesystemSpace | undefined;
  };
}

/** The containers that run, each name once. */
export function runningContainers(pod: ObservedPod): ObservedContainer[] {
  const running = pod.containers.filter((c) => c.state === 'running');
  return [...new Map(running.toReversed().map((c) => [c.name, c])).values()].reverse();
}

/**
 * A pod's part of the summary; undefined when nothing of it runs. CPU and memory are those of the pod's control group, or
 * where there is none the sums of its containers.
 */
export function podSummary({ pod, samples, runtime, nowMs, disk }: PodSummaryInput): PodStats | undefined {
  const running = runningContainers(pod);
  if (running.length === 0) return undefined;
  const own = samples.find((s) => s.kind === 'pod');
  const sandbox = samples.find((s) => s.kind === 'sandbox' && s.network !== undefined);
  const time = timeOf(nowMs);
  const usages = running.map((container) => {
    const sample = samples.find((s) => s.id === container.id);
    const measured = runtime.get(container.id);
    return { container, sample, usage: sample !== undefined ? usageOf(sample) : measured === undefined ? {} : runtimeUsageOf(measured) };
  });
  const containers = usages.map(({ container, usage }): ContainerStats => {
    const base = { name: container.name, startTime: nanosecondTime(container.status.createdAt), ...usage };
    if (disk === undefined) return withoutIo(base);
    const layer = runtime.get(container.id)?.writableLayer;
    const logs = disk.usage.logs.get(container.name) ?? { bytes: 0, inodes: 0 };
    return {
      ...base,
      ...(layer === undefined
        ? {}
        : {
            rootfs: filesystemOf(disk.containers, nanosecondTime(layer.timestamp), { bytes: layer.usedBytes, inodes: layer.inodesUsed }),
          }),
      logs: filesystemOf(disk.node, time, logs),
    };
  });
  const newest = pod.sandboxes[0];
  const ref = {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid as string },
    startTime: newest === undefined ? null : nanosecondTime(newest.createdAt),
    containers,
  };
  const usage = own === undefined ? sumOf(usages.map((u) => u.usage)) : usageOf(own);
  if (disk === undefined) return { ...ref, ...withoutIo(usage) };
  const processes = usages.flatMap(({ sample }) => (sample === undefined ? [] : [sample.processes]));
  return {
    ...ref,
    ...usage,
    ...networkOf(sandbox?.network, sandbox?.stats.atMs ?? nowMs),
    ...(disk.usage.volumes.length === 0 ? {} : { volume: disk.usage.volumes.map((v) => v.stats) }),
    'ephemeral-storage': ephemeralStorage(containers, disk.usage, disk.node, time),
    ...(processes.length === 0 ? {} : { process_stats: { process_count: processes.reduce((a, b) => a + b, 0) } }),
  };
}

/** All that a pod holds of the node's disk: layers, logs, its volumes there, the files that the node keeps for it. Source: contract node.md §3. */
function ephemeralStorage(
  containers: readonly ContainerStats[],
  { podLogs, nodeFiles, volumes }: PodDiskUsage,
  node: FilesystemSpace | undefined,
  time: string,
): FsStats {
  const parts = [
    ...containers.flatMap(({ rootfs, logs }) => [rootfs, logs].map((fs) => ({ bytes: fs?.usedBytes ?? 0, inodes: fs?.inodesUsed ?? 0 }))),
    ...volumes.filter((v) => v.ephemeral).map(({ stats }) => ({ bytes: stats.usedBytes ?? 0, inodes: stats.inodesUsed ?? 0 })),
    podLogs,
    nodeFiles,
  ];
  return filesystemOf(node, time, sumOfFiles(parts));
}

function withoutIo<T extends UsageStats>({ io: _io, ...rest }: T): Omit<T, 'io'> {
  return rest;
}

/** Sums of CPU and memory; pressure cannot be added up. */
function sumOf(usages: readonly UsageStats[]): UsageStats {
  return {
    ...summed(
      usages.flatMap((u) => (u.cpu === undefined ? [] : [u.cpu])),
      'cpu',
    ),
    ...summed(
      usages.flatMap((u) => (u.memory === undefined ? [] : [u.memory])),
      'memory',
    ),
    ...summed(
      usages.flatMap((u) => (u.swap === undefined ? [] : [u.swap])),
      'swap',
    ),
  };
}

function summed<K extends string>(parts: readonly { time: string }[], key: K): { [P in K]?: { time: string } } {
  if (parts.length === 0) return {};
  const total: Record<string, number> = {};
  for (const part of parts)
    for (const [name, value] of Object.entries(part)) if (typeof value === 'number') total[name] = (total[name] ?? 0) + value;
  const time =
    parts
      .map((p) => p.time)
      .toSorted()
      .at(-1) ?? '';
  return { [key]: { time, ...total } } as { [P in K]?: { time: string } };
}
