import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../src/host/clock.ts';
import { nodeFiles } from '../../src/host/files-node.ts';
import { nodeOwnedFiles } from '../../src/host/owned-files.ts';
import { systemRandom } from '../../src/host/random.ts';
import { AtomicWriter } from '../../src/volumes/atomic-writer.ts';
import type { ReaderCounts, ReaderInput } from '../support/version-reader.ts';

const Opens = 100_000;
const Updates = 1_000;
/** Side by side, as a node has them: each update waits for the readers of the version before. */
const Volumes = 10;

it(`shows readers whole versions only: ${Opens} opens during ${Updates} updates of ${Volumes} volumes`, async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'kts-readers-'));
  try {
    const dirs = Array.from({ length: Volumes }, (_, i) => join(root, String(i)));
    const writer = new AtomicWriter({ files: nodeFiles, owned: nodeOwnedFiles, clock: systemClock, random: systemRandom });
    const show = (dir: string, n: number) => {
      const file = { data: Buffer.from(Array<string>(2000).fill(`version ${n}`).join('\n')), mode: 0o644 };
      return writer.write(
        dir,
        new Map([
          ['a', file],
          ['b', file],
        ]),
      );
    };
    await Promise.all(dirs.map((dir) => mkdir(dir).then(() => show(dir, 0))));
    const over = new Int32Array(new SharedArrayBuffer(4));
    const workerData: ReaderInput = { dirs, opens: Opens, over };
    const reader = new Worker(new URL('../support/version-reader.ts', import.meta.url), { workerData });
    let counts: ReaderCounts | undefined;
    const done = once(reader, 'message').then(([message]: ReaderCounts[]) => {
      counts = message;
    });
    let updates = 0;
    await Promise.all(
      dirs.map(async (dir) => {
        // The updates go on as long as somebody reads.
        for (let n = 1; counts === undefined; n++) {
          if (await show(dir, n)) updates++;
          if (updates >= Updates) Atomics.store(over, 0, 1);
        }
      }),
    );
    await done;
    assert.ok(counts !== undefined);
    const { opens, versions, missing, mixed } = counts;
    t.diagnostic(`${opens} opens, ${updates} updates, ${versions} versions seen, ${missing} missing, ${mixed} mixed`);
    assert.ok(opens >= Opens && updates >= Updates && versions > 100, 'too few to show anything');
    assert.deepEqual([missing, mixed], [0, 0]);
  } finally {
    await rm(root, { recursive: true });
  }
});
