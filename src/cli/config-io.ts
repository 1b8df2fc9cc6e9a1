import { open, readdir, readFile } from 'node:fs/promises';
import type { LoadIo } from '../config/load.ts';
import type { DirectoryEntry } from '../config/read-file.ts';

async function readAtMost(path: string, maxBytes: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let total = 0;
    for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      total += chunk.byteLength;
      if (total > maxBytes) break;
    }
    return Buffer.concat(chunks);
  } finally {
    await file.close().catch(() => {});
  }
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): DirectoryEntry['kind'] {
  if (entry.isDirectory()) return 'directory';
  if (entry.isFile()) return 'file';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}

/** Files and the control group version of this machine. */
export const systemConfigIo: LoadIo = {
  cwd: process.cwd(),
  readFile: readAtMost,
  async listDir(path) {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
  },
  async cgroupV2() {
    try {
      // Only the unified hierarchy has this file at its root.
      await readFile('/sys/fs/cgroup/cgroup.controllers');
      return true;
    } catch {
      return false;
    }
  },
};
