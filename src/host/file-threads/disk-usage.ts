import * as fs from 'node:fs';
import { parseMountInfo } from '../mounts.ts';
import { ifThere, openDirectory, pathOf } from '../walk-tree.ts';

/** Each level holds a descriptor; what is deeper is not counted. */
const MaxDepth = 256;
/** Entries between two looks at the clock. */
const ClockEvery = 64;

/** What a directory and all below it take of their file system. */
export interface DiskUsage {
  /** Blocks that are used, in bytes: a sparse file counts with what it has, a file of several names once. */
  bytes: number;
  /** Files, directories and links, the directory itself among them. */
  inodes: number;
  /** The time was over, or a directory was too deep: both figures are too small. */
  isPartial: boolean;
}

interface Walk {
  readonly device: bigint;
  readonly mountPoints: ReadonlySet<string>;
  /** Of files with several names. */
  readonly seen: Set<bigint>;
  readonly isLate: () => boolean;
  bytes: bigint;
  inodes: number;
  looked: number;
  isPartial: boolean;
}

/**
 * Counts a directory within `budgetMs`. For a thread of its own: every call blocks. Another file system below is not counted and
 * not even looked at, since the server behind it may be dead; no link is followed, also one that is swapped in meanwhile. Undefined
 * when there is no such directory. Throws what the system says.
 */
export function diskUsage(path: string, budgetMs: number, clock: () => number = () => performance.now()): DiskUsage | undefined {
  const end = clock() + budgetMs;
  const root = openDirectory(path);
  if (root === undefined) return undefined;
  try {
    const stats = fs.fstatSync(root, { bigint: true });
    const walk: Walk = {
      device: stats.dev,
      mountPoints: new Set(parseMountInfo(fs.readFileSync('/proc/self/mountinfo', 'utf8')).map((mount) => mount.mountPoint)),
      seen: new Set(),
      isLate: () => clock() > end,
      bytes: stats.blocks * 512n,
      inodes: 1,
      looked: 0,
      isPartial: false,
    };
    countEntries(root, fs.readlinkSync(pathOf(root)), walk, 1);
    return { bytes: Number(walk.bytes), inodes: walk.inodes, isPartial: walk.isPartial };
  } finally {
    fs.closeSync(root);
  }
}

/** `real`: the directory's own path, to know the mount points in it. */
function countEntries(directory: number, real: string, walk: Walk, depth: number): void {
  const base = pathOf(directory);
  for (const name of fs.readdirSync(base)) {
    if (walk.isPartial) return;
    if (++walk.looked % ClockEvery === 0 && walk.isLate()) {
      walk.isPartial = true;
      return;
    }
    const ownPath = real === '/' ? `/${name}` : `${real}/${name}`;
    if (walk.mountPoints.has(ownPath)) continue;
    const stats = ifThere(() => fs.lstatSync(`${base}/${name}`, { bigint: true }));
    if (stats === undefined || stats.dev !== walk.device) continue;
    if (!stats.isDirectory() && stats.nlink > 1n) {
      if (walk.seen.has(stats.ino)) continue;
      walk.seen.add(stats.ino);
    }
    walk.bytes += stats.blocks * 512n;
    walk.inodes++;
    if (stats.isDirectory()) countDirectory(`${base}/${name}`, ownPath, walk, depth);
  }
}

function countDirectory(path: string, real: string, walk: Walk, depth: number): void {
  if (depth >= MaxDepth) {
    walk.isPartial = true;
    return;
  }
  const directory = openDirectory(path);
  if (directory === undefined) return;
  try {
    if (fs.fstatSync(directory, { bigint: true }).dev === walk.device) countEntries(directory, real, walk, depth + 1);
  } finally {
    fs.closeSync(directory);
  }
}
