import { statfs } from 'node:fs/promises';

/** Sizes of the file system that holds a path. Bytes and counts. */
export interface DiskSpace {
  capacity: number;
  /** For unprivileged users. */
  available: number;
  inodes: number;
  inodesFree: number;
}

/** Rejects with Node's error when the path does not exist. */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const s = await statfs(path);
  return { capacity: s.blocks * s.bsize, available: s.bavail * s.bsize, inodes: s.files, inodesFree: s.ffree };
}
