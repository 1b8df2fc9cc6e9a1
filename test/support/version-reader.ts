import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

/** What a thread reads, and until when. */
export interface ReaderInput {
  dirs: string[];
  /** At least so many opens, and until `over[0]` is set. */
  opens: number;
  over: Int32Array<SharedArrayBuffer>;
}

/** What it has seen. */
export interface ReaderCounts {
  opens: number;
  missing: number;
  mixed: number;
  versions: number;
}

/** A thread that reads files of volumes as fast as it can, as containers do: what it misses and what does not fit. */
const { dirs, opens, over } = workerData as ReaderInput;
const counts: ReaderCounts = { opens: 0, missing: 0, mixed: 0, versions: 0 };
const last = new Map<string, string>();

function read(path: string): string | undefined {
  counts.opens++;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    counts.missing++;
    return undefined;
  }
}

for (let turn = 0; counts.opens < opens || Atomics.load(over, 0) === 0; turn++) {
  const dir = dirs[turn % dirs.length] ?? '';
  // One file: all of one version.
  const lines = new Set(read(join(dir, 'a'))?.split('\n'));
  if (lines.size > 1) counts.mixed++;
  // Two files through one look at the link: the same version.
  const version = join(dir, readlinkSync(join(dir, '..data')));
  const [a, b] = [read(join(version, 'a')), read(join(version, 'b'))];
  if (a !== undefined && b !== undefined && a !== b) counts.mixed++;
  if (a !== undefined && a !== last.get(dir)) counts.versions++;
  if (a !== undefined) last.set(dir, a);
}
parentPort?.postMessage(counts);
