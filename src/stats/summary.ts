import type { CriStats } from '../cri/ports.ts';
import type { ContainerStats as CriContainerStats } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { FilesystemSpace } from '../host/node-usage.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { GroupSample } from './group.ts';
import type { Collection } from './group-collector.ts';
import { filesystemOf, networkOf, timeOf, usageOf } from './group-json.ts';
import { type PodDiskUsage, podSummary, runningContainers } from './pod-summary.ts';
import type { ContainerStats, NodeStats, PodStats, Summary } from './summary-types.ts';

/** A file system, and what the runtime uses of it. */
export interface RuntimeFilesystem {
  space: FilesystemSpace | undefined;
  used: number;
  inodesUsed: number;
}

export interface SummaryDeps {
  nodeName: string;
  /** Wall-clock text of when the node's system began. */
  bootTime: string;
  /** Wall-clock text of when the agent began. */
  agentStartTime: string;
  /** Bytes set aside as huge pages: they are not there for anything else. */
  hugepageBytes: number;
  /** Groups of the node's own by the name they have in the summary: kubelet, runtime, misc, pods. */
  systemContainers: ReadonlyMap<string, string>;
  collect(): Promise<Collection>;
  /** The machine and the group of all pods, none of a pod. */
  collectNode(): Promise<Collection>;
  observed(): Iterable<ObservedPod>;
  stats: Pick<CriStats, 'listContainerStats'>;
  /** Of the root directory. */
  nodeFilesystem(): Promise<FilesystemSpace | undefined>;
  /** Of the runtime's images and of containers' writable layers; undefined when the runtime does not tell. */
  runtimeFilesystems(): Promise<{ images: RuntimeFilesystem; containers: RuntimeFilesystem } | undefined>;
  podDisk(pod: ObservedPod): Promise<PodDiskUsage>;
  processLimits(): Promise<{ maxpid?: number; curproc?: number }>;
  clock: Pick<Clock, 'now'>;
}

/** What is read of the machine beside its groups. */
interface MachineReading {
  node: FilesystemSpace | undefined;
  runtime: Awaited<ReturnType<SummaryDeps['runtimeFilesystems']>>;
  limits: Awaited<ReturnType<SummaryDeps['processLimits']>>;
}

/** What the node and its pods use, as /stats/summary and all that is made of it show it. */
export class SummaryProvider {
  readonly #deps: SummaryDeps;

  constructor(deps: SummaryDeps) {
    this.#deps = deps;
  }

  /** The node alone: no group of a pod is read. Rejects when the machine cannot be read. */
  async readNode(): Promise<Summary> {
    const { collectNode, clock } = this.#deps;
    const [collection, machine] = await Promise.all([collectNode(), this.#machine()]);
    return { node: this.#whole(collection, machine, clock.now()), pods: [] };
  }

  /** Rejects when the runtime fails. */
  async read(): Promise<Summary> {
    const { collect, stats, observed, podDisk, clock } = this.#deps;
    const [collection, list, machine] = await Promise.all([collect(), stats.listContainerStats(), this.#machine()]);
    const nowMs = clock.now();
    const byId = new Map(list.map((s) => [s.id, s]));
    const byPod = Map.groupBy(collection.samples, (s) => s.podUid);
    const pods = await Promise.all(
      [...observed()].map(async (pod): Promise<PodStats[]> => {
        if (runningContainers(pod).length === 0) return [];
        const disk = { usage: await podDisk(pod), node: machine.node, containers: machine.runtime?.containers.space };
        const summary = podSummary({ pod, samples: byPod.get(pod.uid) ?? [], runtime: byId, nowMs, disk });
        return summary === undefined ? [] : [summary];
      }),
    );
    return { node: this.#whole(collection, machine, nowMs), pods: pods.flat() };
  }

  async #machine(): Promise<MachineReading> {
    const { nodeFilesystem, runtimeFilesystems, processLimits } = this.#deps;
    const [node, runtime, limits] = await Promise.all([nodeFilesystem(), runtimeFilesystems(), processLimits()]);
    return { node, runtime, limits };
  }

  #whole(collection: Collection, { node, runtime, limits }: MachineReading, nowMs: number): NodeStats {
    const root = rootOf(collection);
    const time = timeOf(nowMs);
    return {
      ...this.#node(collection),
      ...networkOf(root?.network, root?.stats.atMs ?? nowMs),
      ...(node === undefined ? {} : { fs: filesystemOf(node, time, { bytes: node.used, inodes: node.inodes - node.inodesFree }) }),
      ...(runtime === undefined
        ? {}
        : {
            runtime: {
              imageFs: filesystemOf(runtime.images.space, time, { bytes: runtime.images.used, inodes: runtime.images.inodesUsed }),
              containerFs: filesystemOf(runtime.containers.space, time, {
                bytes: runtime.containers.used,
                inodes: runtime.containers.inodesUsed,
              }),
            },
          }),
      rlimit: { time, ...limits },
    };
  }

  /** CPU, memory and swap only. The runtime is asked for containers whose groups cannot be seen; rejects when it then fails. */
  async readCpuAndMemory(): Promise<Summary> {
    const { collect, observed, clock } = this.#deps;
    const collection = await collect();
    const nowMs = clock.now();
    const seen = new Set(collection.samples.map((s) => s.id));
    const pods = [...observed()];
    const unseen = pods.some((pod) => runningContainers(pod).some((c) => !seen.has(c.id)));
    const runtime = new Map((unseen ? await this.#deps.stats.listContainerStats() : []).map((s): [string, CriContainerStats] => [s.id, s]));
    const byPod = Map.groupBy(collection.samples, (s) => s.podUid);
    const { io: _io, ...node } = this.#node(collection);
    return { node, pods: pods.flatMap((pod) => podSummary({ pod, samples: byPod.get(pod.uid) ?? [], runtime, nowMs }) ?? []) };
  }

  #node(collection: Collection): NodeStats {
    const { nodeName, hugepageBytes, systemContainers, agentStartTime, bootTime } = this.#deps;
    const root = rootOf(collection);
    const usage = root === undefined ? {} : usageOf(root);
    const available = usage.memory?.availableBytes;
    if (usage.memory !== undefined && available !== undefined) {
      usage.memory = { ...usage.memory, availableBytes: Math.max(0, available - hugepageBytes) };
    }
    const system = [...systemContainers].flatMap(([name, path]): ContainerStats[] => {
      const sample = collection.samples.find((s) => s.path === path);
      const began = name === 'kubelet' ? agentStartTime : bootTime;
      return sample === undefined ? [] : [{ name, startTime: began, ...usageOf(sample) }];
    });
    return { nodeName, ...(system.length === 0 ? {} : { systemContainers: system }), startTime: bootTime, ...usage };
  }
}

function rootOf({ samples }: Collection): GroupSample | undefined {
  return samples.find((s) => s.kind === 'root');
}
