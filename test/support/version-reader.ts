import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

/** A thread that reads files of a volume as fast as it can, as a container does: what it misses and what does not fit. */
const { dir, opens } = workerData as { dir: string; opens: number };
const counts = { opens: 0, missing: 0, mixed: 0, versions: 0 };
let last = '';

function read(path: string): string | undefined {
  counts.opens++;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    counts.missing++;
    return undefined;
  }
}

while (counts.opens < opens) {
  // One file: all of one version.
  const lines = new Set(read(join(dir, 'a'))?.split('\n'));
  if (lines.size > 1) counts.mixed++;
  // Two files through one look at the link: the same version.
  const version = join(dir, readlinkSync(join(dir, '..data')));
  const [a, b] = [read(join(version, 'a')), read(join(version, 'b'))];
  if (a !== undefined && b !== undefined && a !== b) counts.mixed++;
  if (a !== undefined && a !== last) counts.versions++;
  last = a ?? last;
}
parentPort?.postMessage(counts);
