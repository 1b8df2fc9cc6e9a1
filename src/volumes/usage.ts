import type { Volume } from '../api/types.ts';
import type { SlowFiles } from '../host/file-threads/file-threads.ts';

/** What a volume holds and could hold; bytes and counts. A figure that cannot be known is absent. */
export interface VolumeFigures {
  usedBytes?: number;
  /** Of the file system that the volume is on, where the volume has no own. */
  capacityBytes?: number;
  availableBytes?: number;
  inodes?: number;
  inodesFree?: number;
  inodesUsed?: number;
  /** Counting took too long: `usedBytes` and `inodesUsed` are too small. */
  isPartial?: true;
}

/** The figures of one volume of one pod. */
export interface VolumeUsage extends VolumeFigures {
  volume: string;
  /** Of the plug-in, e.g. `kubernetes.io/empty-dir`. */
  plugin: string;
  /** The claim that the volume is, by namespace and name. */
  claim?: { namespace: string; name: string };
  /** Wall-clock milliseconds. */
  measuredAtMs: number;
}

/** What a plug-in measures with. */
export interface UsageInput {
  volume: Volume;
  /** As in VolumeContext. */
  dir: string;
  files: SlowFiles;
  /** Whether something is mounted at exactly that path. */
  isMounted(path: string): boolean;
}

/** Longest that the files of one volume are counted, milliseconds. */
export const CountBudgetMs = 10_000;
const SpaceBudgetMs = 1_000;

/** Figures of a volume that shares its file system: its files are counted. Undefined when it is not there. */
export async function countedUsage({ files }: Pick<UsageInput, 'files'>, path: string): Promise<VolumeFigures | undefined> {
  const usage = await files.run('usage', [path, CountBudgetMs], CountBudgetMs);
  if (usage === undefined) return undefined;
  const space = await files.run('space', [path], SpaceBudgetMs);
  return {
    usedBytes: usage.bytes,
    inodesUsed: usage.inodes,
    ...(space === undefined
      ? {}
      : { capacityBytes: space.capacity, availableBytes: space.available, inodes: space.inodes, inodesFree: space.inodesFree }),
    ...(usage.isPartial ? { isPartial: true } : {}),
  };
}

/** Figures of a volume that is a file system of its own. Undefined when it is not there. */
export async function mountedUsage(
  { files, isMounted }: Pick<UsageInput, 'files' | 'isMounted'>,
  path: string,
): Promise<VolumeFigures | undefined> {
  // Without its mount the figures would be those of the disk below.
  if (!isMounted(path)) return undefined;
  const space = await files.run('space', [path], SpaceBudgetMs);
  if (space === undefined) return undefined;
  const { used, capacity, available, inodes, inodesFree } = space;
  return { usedBytes: used, capacityBytes: capacity, availableBytes: available, inodes, inodesFree, inodesUsed: inodes - inodesFree };
}

/** True when what the volume holds counts against the pod's ephemeral storage. */
export function isLocalEphemeral(volume: Volume): boolean {
  const { emptyDir, configMap } = volume;
  const isOnDisk = emptyDir !== undefined && emptyDir !== null && (emptyDir.medium ?? '') === '';
  return isOnDisk || (configMap !== undefined && configMap !== null);
}
