import { readFile, statfs } from 'node:fs/promises';
import { type MountEntry, readMounts } from './mounts.ts';
import { spaceOf } from './node-usage.ts';

/** What a block device did since the machine began. Times in milliseconds. */
export interface DiskCounts {
  reads: number;
  readsMerged: number;
  sectorsRead: number;
  readTime: number;
  writes: number;
  writesMerged: number;
  sectorsWritten: number;
  writeTime: number;
  ioInProgress: number;
  ioTime: number;
  weightedIoTime: number;
}

export interface BlockDevices {
  /** `/dev/vda` for `254:0`. */
  names: ReadonlyMap<string, string>;
  /** By the same name. */
  counts: ReadonlyMap<string, DiskCounts>;
}

/** Reads the text of /proc/diskstats. */
export function parseDiskstats(text: string): BlockDevices {
  const names = new Map<string, string>();
  const counts = new Map<string, DiskCounts>();
  for (const line of text.split('\n')) {
    const [major, minor, base, ...rest] = line.trim().split(/\s+/);
    if (major === undefined || minor === undefined || base === undefined || rest.length < 11) continue;
    const name = `/dev/${base}`;
    names.set(`${major}:${minor}`, name);
    const [reads = 0, readsMerged = 0, sectorsRead = 0, readTime = 0, writes = 0, writesMerged = 0, ...more] = rest.map(Number);
    const [sectorsWritten = 0, writeTime = 0, ioInProgress = 0, ioTime = 0, weightedIoTime = 0] = more;
    counts.set(name, {
      reads,
      readsMerged,
      sectorsRead,
      readTime,
      writes,
      writesMerged,
      sectorsWritten,
      writeTime,
      ioInProgress,
      ioTime,
      weightedIoTime,
    });
  }
  return { names, counts };
}

export async function readBlockDevices(): Promise<BlockDevices> {
  return parseDiskstats(await readFile('/proc/diskstats', 'utf8').catch(() => ''));
}

/** A file system of the machine. `device` is the block device, or the mount point of one in memory. */
export interface LocalFilesystem {
  device: string;
  mountPoint: string;
}

/** The kernel's trees, and what containerd mounts for its containers wherever it keeps them. */
const notOwn = /^\/sys\/|\/io\.containerd\./;

/**
 * The machine's own file systems, each once: block devices, and those in memory. What lies below `notBelow` (volumes of
 * pods, containers' roots) is somebody else's.
 */
export function localFilesystems(mounts: readonly MountEntry[], notBelow: readonly string[]): LocalFilesystem[] {
  const found = new Map<string, LocalFilesystem>();
  for (const { fsType, source, mountPoint } of mounts) {
    if (notOwn.test(mountPoint) || notBelow.some((path) => mountPoint === path || mountPoint.startsWith(`${path}/`))) continue;
    const device = source.startsWith('/dev/')
      ? source
      : fsType === 'tmpfs'
        ? mountPoint
        : fsType === 'overlay' && mountPoint === '/'
          ? '/'
          : '';
    if (device !== '' && !found.has(device)) found.set(device, { device, mountPoint });
  }
  return [...found.values()];
}

/** Bytes and inodes of a file system, and what its device did. */
export interface FilesystemCounts {
  device: string;
  limit: number;
  usage: number;
  inodes: number;
  inodesFree: number;
  disk?: DiskCounts;
}

export async function filesystemCounts(notBelow: readonly string[], disks: BlockDevices): Promise<FilesystemCounts[]> {
  const all = localFilesystems(await readMounts(), notBelow);
  const counted = await Promise.all(
    all.map(async ({ device, mountPoint }): Promise<FilesystemCounts[]> => {
      const info = await statfs(mountPoint).catch(() => undefined);
      if (info === undefined || info.blocks === 0) return [];
      const disk = disks.counts.get(device);
      const { capacity, used, inodes, inodesFree } = spaceOf(info);
      return [{ device, limit: capacity, usage: used, inodes, inodesFree, ...(disk === undefined ? {} : { disk }) }];
    }),
  );
  return counted.flat();
}
