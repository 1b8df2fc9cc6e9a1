import { podRequests } from '../api/resources.ts';
import type { Pod, Volume } from '../api/types.ts';
import { isMemorySignal } from './observations.ts';
import type { Signal } from './thresholds.ts';

export interface FsUsage {
  usedBytes?: number;
  inodesUsed?: number;
}

/** What the summary API knows of a pod's use, as far as ranking needs it. */
export interface PodUsage {
  memory?: { workingSetBytes?: number };
  process_stats?: { process_count?: number };
  containers?: { name?: string; memory?: { workingSetBytes?: number }; rootfs?: FsUsage; logs?: FsUsage }[];
  volume?: ({ name: string } & FsUsage)[];
  /** All that counts against the pod's own limit: writable layers, logs, local volumes, its files on the node. */
  'ephemeral-storage'?: FsUsage;
}

/** Which file systems the runtime has: images on their own, and whether writable layers stay on the node's. */
export interface RuntimeDisks {
  imageFs: boolean;
  splitImageFs: boolean;
}

type DiskPart = 'logs' | 'volumes' | 'rootfs';
type Key = (pod: Pod) => number | bigint;

const EveryPart: readonly DiskPart[] = ['logs', 'volumes', 'rootfs'];

/**
 * The pods in the order they would be evicted for a signal, equal ones as they came. A pod without statistics comes
 * first: nobody knows what it holds. Source: vectors eviction-ranking; contract node.md §3.
 */
export function rankForEviction(
  signal: Signal,
  pods: readonly Pod[],
  usageOf: (pod: Pod) => PodUsage | undefined,
  disks: RuntimeDisks,
): Pod[] {
  const unknownFirst: Key = (pod) => (usageOf(pod) === undefined ? 0 : 1);
  if (signal === 'pid.available') {
    return sortBy(pods, [priority, unknownFirst, (pod) => -(usageOf(pod)?.process_stats?.process_count ?? 0)]);
  }
  const isMemory = isMemorySignal(signal);
  const resource = isMemory ? 'memory' : 'ephemeral-storage';
  const what = signal.endsWith('.inodesFree') ? 'inodesUsed' : 'usedBytes';
  const parts = isMemory ? [] : measuredParts(signal, disks);
  const used = (pod: Pod): bigint => {
    const usage = usageOf(pod);
    if (usage === undefined) return 0n;
    return BigInt(isMemory ? (usage.memory?.workingSetBytes ?? 0) : diskUse(pod, usage, parts, what));
  };
  const requested = (pod: Pod): bigint => podRequests(pod).get(resource)?.value() ?? 0n;
  // Nobody can request inodes, so that any use exceeds; the distance is still measured from the requested bytes.
  const allowed = (pod: Pod) => (what === 'inodesUsed' ? 0n : requested(pod));
  const exceedingFirst: Key = (pod) => (used(pod) > allowed(pod) ? 0 : 1);
  const largestFirst: Key = (pod) => (usageOf(pod) === undefined ? 0n : requested(pod) - used(pod));
  return sortBy(pods, [unknownFirst, exceedingFirst, priority, largestFirst]);
}

function priority(pod: Pod): number {
  return pod.spec.priority ?? 0;
}

/** What lies on the file system that the signal watches. */
function measuredParts(signal: Signal, { imageFs, splitImageFs }: RuntimeDisks): readonly DiskPart[] {
  if (!imageFs) return EveryPart;
  const isImages = signal.startsWith('imagefs.');
  if (splitImageFs) return isImages ? [] : EveryPart;
  return isImages || signal.startsWith('containerfs.') ? ['rootfs'] : ['logs', 'volumes'];
}

function diskUse(pod: Pod, usage: PodUsage, parts: readonly DiskPart[], what: keyof FsUsage): number {
  const containers = usage.containers ?? [];
  const sum = (values: readonly (FsUsage | undefined)[]) => values.reduce((total, value) => total + (value?.[what] ?? 0), 0);
  const local = (pod.spec.volumes ?? []).filter(isOnNodeDisk).map(({ name }) => usage.volume?.find((volume) => volume.name === name));
  return (
    (parts.includes('rootfs') ? sum(containers.map(({ rootfs }) => rootfs)) : 0) +
    (parts.includes('logs') ? sum(containers.map(({ logs }) => logs)) : 0) +
    (parts.includes('volumes') ? sum(local) : 0)
  );
}

/** The volume's files lie on the node's own disk. */
export function isOnNodeDisk({ hostPath, emptyDir, configMap, gitRepo }: Volume): boolean {
  return Boolean(hostPath) || Boolean(configMap) || Boolean(gitRepo) || (Boolean(emptyDir) && !emptyDir?.medium);
}

/** Ascending by the first key that differs. Each key is computed once a pod. */
function sortBy(pods: readonly Pod[], keys: readonly Key[]): Pod[] {
  const keyed = pods.map((pod) => ({ pod, values: keys.map((key) => key(pod)) }));
  keyed.sort((a, b) => {
    for (const [i, left] of a.values.entries()) {
      const right = b.values[i] ?? 0;
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  });
  return keyed.map(({ pod }) => pod);
}
