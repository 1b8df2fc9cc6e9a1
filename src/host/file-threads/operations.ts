import * as fs from 'node:fs';
import { type FileInfo, isErrno } from '../files.ts';
import { type GroupOptions, setGroup, WalkControl } from '../fs-group.ts';
import { type FilesystemSpace, spaceOf } from '../node-usage.ts';
import { type DiskUsage, diskUsage } from './disk-usage.ts';

/** What a file thread can be asked for. Each blocks its thread, and must not be called on the event loop. */
export interface FileOperations {
  /** Undefined when there is no such directory. */
  usage(path: string, budgetMs: number): DiskUsage | undefined;
  /** Of the file system that holds the path; undefined when there is nothing. */
  space(path: string): FilesystemSpace | undefined;
  /** See setGroup: the counters are those of a WalkControl. */
  group(path: string, gid: number, options: GroupOptions, counters: Int32Array<SharedArrayBuffer>): number;
  /** What the path is, links followed; undefined when there is nothing. */
  kind(path: string): FileInfo['kind'] | undefined;
}

export const fileOperations: FileOperations = {
  usage: (path, budgetMs) => diskUsage(path, budgetMs),

  space: (path) => unlessMissing(() => spaceOf(fs.statfsSync(path))),

  group: (path, gid, options, counters) => setGroup(path, gid, options, new WalkControl(counters)),

  kind: (path) => unlessMissing(() => kindOf(fs.statSync(path))),
};

function unlessMissing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return undefined;
    throw err;
  }
}

function kindOf(stats: fs.Stats): FileInfo['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSocket()) return 'socket';
  if (stats.isFIFO()) return 'fifo';
  if (stats.isCharacterDevice()) return 'character';
  return stats.isBlockDevice() ? 'block' : 'other';
}
