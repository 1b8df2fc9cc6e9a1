import type { BigIntStats } from 'node:fs';
import * as fs from 'node:fs/promises';

/** A path's kind and a text that changes whenever the file behind it does, as far as its inode tells. Follows symlinks. */
export interface FileStamp {
  kind: 'file' | 'directory' | 'other';
  /** Device, inode, size, mtime and ctime. */
  stamp: string;
  /** Device and inode: changes when another file or directory takes the name. */
  identity: string;
}

/** Throws Node's error: ENOENT, ELOOP, EACCES, ... */
export async function fileStamp(path: string): Promise<FileStamp> {
  return toStamp(await fs.stat(path, { bigint: true }));
}

function toStamp(stats: BigIntStats): FileStamp {
  const identity = `${stats.dev}:${stats.ino}`;
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';
  return { kind, identity, stamp: `${identity}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}` };
}
