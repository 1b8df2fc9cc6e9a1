import { posix } from 'node:path';
import { podUid } from '../api/brands.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import { systemClock } from '../host/clock.ts';
import { hugepageBytes, processLimits } from '../host/machine.ts';
import { bootTimeMs, filesystemSpace } from '../host/node-usage.ts';
import { ownCgroup } from '../host/own-process.ts';
import { cadvisorMetrics } from '../stats/cadvisor/cadvisor-metrics.ts';
import { readTopology } from '../stats/cadvisor/machine.ts';
import { GroupCollector, type GroupCollectorDeps } from '../stats/group-collector.ts';
import { measuredVolumes } from '../stats/measured-volumes.ts';
import { podDisk, podLogs } from '../stats/pod-disk.ts';
import { resourceMetrics } from '../stats/resource-metrics.ts';
import { storageMetrics } from '../stats/storage-metrics.ts';
import { type RuntimeFilesystem, SummaryProvider } from '../stats/summary.ts';
import type { Summary } from '../stats/summary-types.ts';
import type { RealNode } from './node.ts';

export interface NodeStatsInput {
  node: RealNode;
  flags: KubeletFlags;
  config: ResolvedConfig;
}

/** What the node and its pods use, for the endpoints. */
export interface NodeStats {
  summary(onlyCpuAndMemory: boolean): Promise<Summary>;
  /** The node alone, of its own groups only that of all pods: cheap, however many pods there are. */
  nodeSummary(): Promise<Summary>;
  resourceMetrics(): Promise<string>;
  cadvisorMetrics(): Promise<string>;
  /** The part of /metrics that is measured: claims and logs. */
  storageMetrics(): Promise<string>;
}

/** Where runtimes mount their containers. */
const RUNTIME_DIRS = ['/run/containerd', '/var/lib/containerd', '/var/lib/containers', '/run/containers'];

/** Builds the statistics of this machine. */
export async function nodeStats({ node, flags, config }: NodeStatsInput): Promise<NodeStats> {
  const clock = systemClock;
  const { kubelet, machine, cgroups, cgroupFs, runtime } = node;
  const [bootMs, own, topology] = await Promise.all([bootTimeMs(), ownCgroup(), readTopology(machine.cpu / 1000)]);
  const pods = cgroups.root;
  const kubeletGroup = config.kubeletCgroups || own;
  const system = new Map(
    [
      ['kubelet', kubeletGroup],
      ['runtime', flags.runtimeCgroups],
      ['misc', config.systemCgroups],
      ['pods', pods],
    ].filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '' && entry[1] !== '/'),
  );
  const podsDir = posix.join(flags.rootDir, 'pods');
  const { podLogsDir } = config;
  const podOf = (uid: string) => kubelet.store.get(podUid(uid));
  const volumesOf = (uid: string) => node.volumeStats.ofPod(uid);
  const groups: GroupCollectorDeps = {
    cgroups: cgroupFs,
    podGroups: () => cgroups.listPods(),
    nodeGroups: { pods, classes: config.cgroupsPerQOS ? ['burstable', 'besteffort'].map((qos) => `${pods}/${qos}`) : [] },
    systemGroups: [...system].filter(([name]) => name !== 'pods').map(([, path]) => path),
    observed: () => kubelet.cache.all(),
    sandboxImage: once(() => sandboxImage(node)),
    notBelow: [podsDir, ...RUNTIME_DIRS],
    capacity: { memory: machine.memory, swap: machine.swap },
    clock,
  };
  const collector = new GroupCollector(groups);
  // What eviction goes by every ten seconds: the machine and all pods together.
  const nodeCollector = new GroupCollector({
    ...groups,
    podGroups: () => Promise.resolve([]),
    nodeGroups: { pods, classes: [] },
    systemGroups: [],
    observed: () => [],
  });
  const collect = () => collector.collect();
  const now = new Date(clock.now()).toISOString();
  const provider = new SummaryProvider({
    nodeName: node.nodeName,
    bootTime: bootMs === undefined ? now : new Date(bootMs).toISOString(),
    agentStartTime: now,
    hugepageBytes: hugepageBytes(machine),
    systemContainers: system,
    collect,
    collectNode: () => nodeCollector.collect(),
    observed: () => kubelet.cache.all(),
    stats: runtime.stats,
    nodeFilesystem: () => filesystemSpace(flags.rootDir),
    runtimeFilesystems: () => runtimeFilesystems(node),
    podDisk: (pod) => podDisk({ podLogsDir, podsDir, volumes: (uid) => measuredVolumes(podOf(uid), volumesOf(uid)) }, pod),
    processLimits: () => processLimits(),
    clock,
  });
  return {
    summary: (onlyCpuAndMemory) => (onlyCpuAndMemory ? provider.readCpuAndMemory() : provider.read()),
    nodeSummary: () => provider.readNode(),
    resourceMetrics: () => resourceMetrics(() => provider.readCpuAndMemory()),
    cadvisorMetrics: () => cadvisorMetrics({ collect, machine, topology }),
    storageMetrics: () =>
      storageMetrics({
        pods: () => kubelet.pods(),
        volumes: volumesOf,
        logs: () => Promise.all([...kubelet.cache.all()].map((pod) => podLogs(podLogsDir, pod))),
      }),
  };
}

async function runtimeFilesystems({ runtime }: RealNode) {
  const info = await runtime.images.imageFilesystems().catch(() => undefined);
  const [images] = info?.imageFilesystems ?? [];
  if (images === undefined) return undefined;
  // A runtime that names no file system for containers keeps them with the images.
  const [containers = images] = info?.containerFilesystems ?? [];
  const read = async (fs: typeof images): Promise<RuntimeFilesystem> => ({
    space: await filesystemSpace(fs.mountpoint),
    used: fs.usedBytes,
    inodesUsed: fs.inodesUsed,
  });
  return { images: await read(images), containers: await read(containers) };
}

/** From the configuration that containerd shows in its verbose status. */
async function sandboxImage({ runtime }: RealNode): Promise<string> {
  const { info } = await runtime.runtime.verboseStatus();
  const config: unknown = JSON.parse(info?.['config'] ?? '{}');
  if (typeof config !== 'object' || config === null || !('sandboxImage' in config)) return '';
  return typeof config.sandboxImage === 'string' ? config.sandboxImage : '';
}

/** The value that was once found; a failure is an empty one and is tried again. */
function once(find: () => Promise<string>): () => Promise<string> {
  let found: string | undefined;
  return async () => {
    found ??= await find().catch(() => undefined);
    return found ?? '';
  };
}
