import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { isErrno } from './files.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** open(2); see safe-path.ts. */
const O_PATH = 0o10000000;

const SetGid = 0o2000;
/** Entries of one directory that are looked at side by side. */
const Batch = 16;
/** Each level holds a descriptor. */
const MaxDepth = 1024;

/** Permissions that the group gets: contract node.md §10. */
export function groupMode(mode: number, isDirectory: boolean, readOnly: boolean): number {
  return mode | (readOnly ? 0o440 : 0o660) | (isDirectory ? 0o110 | SetGid : 0);
}

export interface GroupOptions {
  readOnly: boolean;
  /** Leaves everything alone when the root has the group and its permissions already. */
  onRootMismatch: boolean;
  signal?: AbortSignal;
}

/**
 * Gives the tree at `root` to a group, the root last: a run that was cut off is done again. Users keep their files; links
 * get the group and are not followed, also one that is swapped in meanwhile. Returns how many entries were looked at.
 */
export async function setGroup(root: string, gid: number, options: GroupOptions): Promise<number> {
  const { readOnly, onRootMismatch } = options;
  if (onRootMismatch) {
    const stats = await fs.lstat(root);
    if (stats.isDirectory() && isDone(stats, gid, readOnly)) return 0;
  }
  return setEntry(root, gid, options, 0);
}

function isDone(stats: { gid: number; mode: number; isDirectory(): boolean }, gid: number, readOnly: boolean): boolean {
  return stats.gid === gid && groupMode(stats.mode, stats.isDirectory(), readOnly) === stats.mode;
}

async function setEntry(path: string, gid: number, options: GroupOptions, depth: number): Promise<number> {
  options.signal?.throwIfAborted();
  const stats = await fs.lstat(path).catch(ignoreMissing);
  if (stats === undefined) return 0;
  if (stats.isDirectory()) return setDirectory(path, gid, options, depth);
  if (stats.isSymbolicLink()) {
    if (stats.gid !== gid) await fs.lchown(path, -1, gid).catch(ignoreMissing);
  } else if (!isDone(stats, gid, options.readOnly)) await setFile(path, gid, options.readOnly);
  return 1;
}

async function setFile(path: string, gid: number, readOnly: boolean): Promise<void> {
  const file = await fs.open(path, O_PATH | O_NOFOLLOW).catch(ignoreMissing);
  if (file === undefined) return;
  try {
    const stats = await file.stat();
    if (stats.isSymbolicLink()) return;
    await change(file, stats.mode, gid, readOnly, stats.isDirectory());
  } finally {
    await file.close();
  }
}

async function setDirectory(path: string, gid: number, options: GroupOptions, depth: number): Promise<number> {
  if (depth > MaxDepth) throw new Error(`the volume is deeper than ${MaxDepth} directories`);
  const directory = await fs.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(ignoreMissing);
  if (directory === undefined) return 0;
  try {
    const base = `/proc/self/fd/${directory.fd}`;
    const names = await fs.readdir(base);
    let count = 1;
    for (let at = 0; at < names.length; at += Batch) {
      const batch = names.slice(at, at + Batch).map((name) => setEntry(`${base}/${name}`, gid, options, depth + 1));
      // All must be over before this ends: their directory is closed then.
      for (const result of await Promise.allSettled(batch)) {
        if (result.status === 'rejected') throw result.reason;
        count += result.value;
      }
    }
    const stats = await directory.stat();
    if (!isDone(stats, gid, options.readOnly)) await change(directory, stats.mode, gid, options.readOnly, true);
    return count;
  } finally {
    await directory.close();
  }
}

/** Through the descriptor's own name: fchmod(2) does not take one that was opened with O_PATH. */
async function change(file: fs.FileHandle, mode: number, gid: number, readOnly: boolean, isDirectory: boolean): Promise<void> {
  const path = `/proc/self/fd/${file.fd}`;
  await fs.chown(path, -1, gid);
  await fs.chmod(path, groupMode(mode, isDirectory, readOnly) & 0o7777);
}

function ignoreMissing(err: unknown): undefined {
  if (!isErrno(err, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw err;
}
