import type { Pod } from '../api/types.ts';
import type { CriStats } from '../cri/ports.ts';
import type { ContainerStats } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { FilesystemSpace, NodeUsage } from '../host/node-usage.ts';
import { newest, type PodUsage, sum, usageByPod } from './container-usage.ts';

export interface SummaryDeps {
  nodeName: string;
  /** Wall-clock text of when the node's system began. */
  bootTime: string;
  /** Bytes of the machine. */
  memoryCapacity: number;
  pods(): Pod[];
  stats: Pick<CriStats, 'listContainerStats'>;
  nodeUsage(): Promise<NodeUsage>;
  /** Of the root directory. */
  nodeFilesystem(): Promise<FilesystemSpace | undefined>;
  /** Of the runtime's images, and what they use of it; undefined when the runtime does not tell. */
  imageFilesystem(): Promise<{ space: FilesystemSpace; used: number; inodesUsed: number } | undefined>;
  clock: Pick<Clock, 'now'>;
}

type Json = Record<string, unknown>;

/**
 * The body of /stats/summary as far as the runtime and the machine tell it (contract http-api §10): network and volumes are
 * not in it, and a pod's figures are the sums of its containers. Keeps the last look at the node's CPU for its rate.
 */
export class Summary {
  readonly #deps: SummaryDeps;
  #last: { nanoseconds: bigint; atMs: number; rate: number | undefined } | undefined;

  constructor(deps: SummaryDeps) {
    this.#deps = deps;
  }

  /** Rejects when the runtime fails. */
  async read(onlyCpuAndMemory = false): Promise<Json> {
    const { pods, stats, nodeUsage } = this.#deps;
    const [list, usage] = await Promise.all([stats.listContainerStats(), nodeUsage()]);
    return {
      node: await this.#node(usage, onlyCpuAndMemory),
      pods: usageByPod(pods(), list).map((p) => podStats(p, onlyCpuAndMemory)),
    };
  }

  async #node({ cpuNanoseconds, memory, swap }: NodeUsage, onlyCpuAndMemory: boolean): Promise<Json> {
    const { nodeName, bootTime, memoryCapacity, clock, nodeFilesystem, imageFilesystem } = this.#deps;
    const time = new Date(clock.now()).toISOString();
    const node: Json = { nodeName, startTime: bootTime };
    if (cpuNanoseconds !== undefined) {
      const rate = this.#rate(cpuNanoseconds);
      node['cpu'] = { time, ...(rate === undefined ? {} : { usageNanoCores: rate }), usageCoreNanoSeconds: Number(cpuNanoseconds) };
    }
    if (memory !== undefined) {
      const { usage, workingSet, rss, pageFaults, majorPageFaults } = memory;
      const availableBytes = Math.max(0, memoryCapacity - workingSet);
      node['memory'] = { time, availableBytes, usageBytes: usage, workingSetBytes: workingSet, rssBytes: rss, pageFaults, majorPageFaults };
    }
    if (swap !== undefined) node['swap'] = { time, swapAvailableBytes: swap.available, swapUsageBytes: swap.usage };
    if (onlyCpuAndMemory) return node;
    const [own, images] = await Promise.all([nodeFilesystem(), imageFilesystem()]);
    if (own !== undefined) node['fs'] = { time, ...filesystem(own, own.used, own.inodes - own.inodesFree) };
    if (images !== undefined) node['runtime'] = { imageFs: { time, ...filesystem(images.space, images.used, images.inodesUsed) } };
    return node;
  }

  /** Nanoseconds of CPU in a second, since the look before this one; looks shortly after another give its rate. */
  #rate(nanoseconds: bigint): number | undefined {
    const atMs = this.#deps.clock.now();
    const last = this.#last;
    if (last !== undefined && atMs - last.atMs < MIN_RATE_MS) return last.rate;
    const rate =
      last === undefined || nanoseconds < last.nanoseconds
        ? undefined
        : Math.round(Number(nanoseconds - last.nanoseconds) / ((atMs - last.atMs) / 1000));
    this.#last = { nanoseconds, atMs, rate };
    return rate;
  }
}

const MIN_RATE_MS = 1_000;

function filesystem({ available, capacity, inodes, inodesFree }: FilesystemSpace, usedBytes: number, inodesUsed: number): Json {
  return { availableBytes: available, capacityBytes: capacity, usedBytes, inodesFree, inodes, inodesUsed };
}

function podStats({ pod, containers }: PodUsage, onlyCpuAndMemory: boolean): Json {
  const { name, namespace, uid } = pod.metadata;
  const all = containers.map((c) => c.stats);
  return {
    podRef: { name, namespace, uid },
    startTime: pod.status?.startTime ?? null,
    containers: containers.map(({ name: containerName, stats, status }) => ({
      name: containerName,
      startTime: status?.state?.running?.startedAt ?? null,
      ...containerUsage(stats, onlyCpuAndMemory),
    })),
    ...section('cpu', all, (s) => s.cpu, { usageNanoCores: (c) => c.usageNanoCores, usageCoreNanoSeconds: (c) => c.usageCoreNanoSeconds }),
    ...section('memory', all, (s) => s.memory, {
      usageBytes: (m) => m.usageBytes,
      workingSetBytes: (m) => m.workingSetBytes,
      rssBytes: (m) => m.rssBytes,
      pageFaults: (m) => m.pageFaults,
      majorPageFaults: (m) => m.majorPageFaults,
    }),
  };
}

/** The sums over all containers of one kind of figures; nothing when none has a value. */
function section<T extends { timestamp: bigint }>(
  key: string,
  all: readonly ContainerStats[],
  part: (stats: ContainerStats) => T | undefined,
  fields: Record<string, (part: T) => number | bigint | undefined>,
): Json {
  const parts = all.map(part).filter((p) => p !== undefined);
  const values = known(Object.fromEntries(Object.entries(fields).map(([name, get]) => [name, sum(parts.map(get))])));
  return Object.keys(values).length === 0 ? {} : { [key]: { time: timeOf(newest(parts.map((p) => p.timestamp))), ...values } };
}

function containerUsage({ cpu, memory, swap, writableLayer }: ContainerStats, onlyCpuAndMemory: boolean): Json {
  const usage: Json = {};
  if (cpu !== undefined) {
    const { timestamp, usageNanoCores, usageCoreNanoSeconds: total } = cpu;
    usage['cpu'] = {
      time: timeOf(timestamp),
      ...known({ usageNanoCores, usageCoreNanoSeconds: total === undefined ? undefined : Number(total) }),
    };
  }
  if (memory !== undefined) {
    const { timestamp, psi: _psi, ...values } = memory;
    usage['memory'] = { time: timeOf(timestamp), ...known(values) };
  }
  if (swap !== undefined) {
    const { timestamp, ...values } = swap;
    usage['swap'] = { time: timeOf(timestamp), ...known(values) };
  }
  if (writableLayer !== undefined && !onlyCpuAndMemory) {
    const { timestamp, usedBytes, inodesUsed } = writableLayer;
    usage['rootfs'] = { time: timeOf(timestamp), usedBytes, inodesUsed };
  }
  return usage;
}

function known(values: Json): Json {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined));
}

const timeOf = (nanoseconds: bigint) => new Date(Number(nanoseconds / 1_000_000n)).toISOString();
