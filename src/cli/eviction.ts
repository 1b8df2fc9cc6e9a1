import { readFile, stat } from 'node:fs/promises';
import { podUid } from '../api/brands.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import type { CriImageFs } from '../cri/ports.ts';
import { EvictionManager, type EvictionPods } from '../eviction/manager.ts';
import { MemoryWatch } from '../eviction/memory-watch.ts';
import type { Observations } from '../eviction/observations.ts';
import type { RuntimeDisks } from '../eviction/ranking.ts';
import { memoryObservations } from '../eviction/summary.ts';
import { parseThresholds } from '../eviction/thresholds.ts';
import { readCgroupMemory } from '../host/cgroups/cgroup-stats.ts';
import { systemClock } from '../host/clock.ts';
import { hugepageBytes } from '../host/machine.ts';
import type { Kubelet } from '../kubelet.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Service } from '../observe/service.ts';
import { PodKiller } from '../pods/kill-pod.ts';
import type { MemoryStats } from '../stats/summary-types.ts';
import type { RealNode } from './node.ts';
import type { NodeStats } from './stats.ts';

export interface EvictionInput {
  node: RealNode;
  flags: KubeletFlags;
  config: ResolvedConfig;
  stats: Pick<NodeStats, 'summary' | 'nodeSummary'>;
  metrics: Pick<AgentMetrics, 'evicted' | 'evictionStatsAge'>;
  log: Logger;
}

/** What keeps this machine from running out of memory, disk and processes; in start order. Throws ThresholdError. */
export function nodeEviction({ node, flags, config, stats, metrics, log }: EvictionInput): Service[] {
  const clock = systemClock;
  const thresholds = parseThresholds({
    allocatable: config.enforceNodeAllocatable,
    hard: config.evictionHard,
    soft: config.evictionSoft,
    softGrace: config.evictionSoftGracePeriod,
    minReclaim: config.evictionMinimumReclaim,
  });
  const { kubelet, runtime, events, pressures, reference } = node;
  const manager = new EvictionManager({
    clock,
    log,
    events,
    node: reference,
    policy: {
      thresholds,
      transitionMs: config.evictionPressureTransitionPeriodMs,
      maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
      localStorage: config.localStorageCapacityIsolation,
    },
    summary: (withPods) => (withPods ? stats.summary(false) : stats.nodeSummary()),
    disks: () => runtimeDisks(runtime.images, flags.rootDir),
    pods: evictionPods(kubelet, events),
    reclaim: {
      'dead containers': (signal) => kubelet.removeDeadContainers(signal),
      'unused images': (signal) => node.removeUnusedImages(signal),
    },
    metrics: { evicted: (signal) => metrics.evicted(signal), statsAge: (signal, seconds) => metrics.evictionStatsAge(signal, seconds) },
    pressed: (present) => pressures.set(present),
    stalls: () => readFile('/proc/pressure/memory', 'utf8').then(firstLine, () => undefined),
  });
  if (!config.kernelMemcgNotification) return [manager];
  const watch = new MemoryWatch({
    clock,
    thresholds,
    observe: () => memoryLeft(node),
    crossed: () => manager.poke(),
  });
  return [manager, watch];
}

/** The node's memory and that of all pods together, by a few small files. */
async function memoryLeft({ machine, cgroups, cgroupFs }: RealNode): Promise<Observations> {
  const [node, pods] = await Promise.all([readCgroupMemory(cgroupFs, '/'), readCgroupMemory(cgroupFs, cgroups.root)]);
  const time = new Date(systemClock.now()).toISOString();
  const memory = (limit: number, used: number | undefined): MemoryStats | undefined =>
    used === undefined || !Number.isFinite(limit) ? undefined : { time, availableBytes: Math.max(0, limit - used), workingSetBytes: used };
  return memoryObservations(memory(machine.memory - hugepageBytes(machine), node.workingSet), memory(pods.limit, pods.workingSet));
}

function evictionPods(kubelet: Kubelet, events: EventRecorder): EvictionPods {
  const killer = new PodKiller({ clock: systemClock, events, lanes: kubelet.dispatcher });
  return {
    active: () => {
      const alive = kubelet.dispatcher.states().filter(({ phase, orphan }) => !orphan && (phase === 'sync' || phase === 'terminating'));
      return alive.map(({ pod }) => pod);
    },
    kill: (pod, options, signal) => killer.kill(pod, options, signal),
    isCleanedUp: (pod) => (kubelet.dispatcher.state(podUid(pod.metadata.uid))?.phase ?? 'finished') === 'finished',
  };
}

/** Which file systems hold images and containers, told by their devices; undefined while the runtime does not answer. */
async function runtimeDisks(images: CriImageFs, rootDir: string): Promise<RuntimeDisks | undefined> {
  const info = await images.imageFilesystems().catch(() => undefined);
  const [imageFs] = info?.imageFilesystems ?? [];
  if (imageFs === undefined) return undefined;
  const [containerFs = imageFs] = info?.containerFilesystems ?? [];
  const [own, there] = await Promise.all([device(rootDir), device(imageFs.mountpoint)]);
  if (own === undefined || there === undefined) return undefined;
  return { imageFs: own !== there, splitImageFs: containerFs.mountpoint !== imageFs.mountpoint };
}

async function device(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.dev;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
