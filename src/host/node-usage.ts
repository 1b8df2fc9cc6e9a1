import type { StatsFs } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';

/** Bytes and inodes of the file system of a path. */
export interface FilesystemSpace {
  available: number;
  capacity: number;
  used: number;
  inodes: number;
  inodesFree: number;
}

/** Undefined when the path cannot be read. */
export async function filesystemSpace(path: string): Promise<FilesystemSpace | undefined> {
  return await statfs(path).then(spaceOf, () => undefined);
}

export function spaceOf({ bsize, blocks, bfree, bavail, files, ffree }: StatsFs): FilesystemSpace {
  return { available: bavail * bsize, capacity: blocks * bsize, used: (blocks - bfree) * bsize, inodes: files, inodesFree: ffree };
}

/** When the machine started, in wall-clock milliseconds; undefined when /proc does not tell. */
export async function bootTimeMs(root = '/'): Promise<number | undefined> {
  const text = await readFile(`${root}proc/stat`, 'utf8').catch(() => '');
  const found = /^btime (\d+)$/m.exec(text)?.[1];
  return found === undefined ? undefined : Number(found) * 1000;
}
