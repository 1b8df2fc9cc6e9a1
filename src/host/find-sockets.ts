import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from './files.ts';

/** Unix sockets below a directory, and the directories that were looked into. */
export interface FoundSockets {
  /** By path; the text changes when another socket takes the name. */
  sockets: Map<string, string>;
  /** `dir` first. */
  directories: string[];
}

/** Deeper than any plug-in lays its socket. */
const MaxDepth = 16;

/** Looks for sockets below `dir`; names that begin with a dot are left out, links are not followed. A missing directory has none. */
export async function findSockets(dir: string): Promise<FoundSockets> {
  const found: FoundSockets = { sockets: new Map(), directories: [] };
  await look(dir, 0, found);
  return found;
}

async function look(dir: string, depth: number, found: FoundSockets): Promise<void> {
  const entries = await fs.readdir(dir, { withFileTypes: true }).catch(ignoreMissing);
  if (entries === undefined) return;
  found.directories.push(dir);
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory() && depth < MaxDepth) await look(path, depth + 1, found);
    if (!entry.isSocket()) continue;
    const stats = await fs.lstat(path, { bigint: true }).catch(ignoreMissing);
    if (stats?.isSocket()) found.sockets.set(path, `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`);
  }
}

function ignoreMissing(err: unknown): undefined {
  if (!isErrno(err, 'ENOENT', 'ENOTDIR')) throw err;
}
