import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../src/host/clock.ts';
import { nodeFiles } from '../../src/host/files-node.ts';
import { nodeOwnedFiles } from '../../src/host/owned-files.ts';
import { systemRandom } from '../../src/host/random.ts';
import { AtomicWriter } from '../../src/volumes/atomic-writer.ts';

const Opens = 100_000;

it(`shows readers whole versions only: ${Opens} opens while the files change`, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'kts-readers-'));
  try {
    const writer = new AtomicWriter({
      files: nodeFiles,
      owned: nodeOwnedFiles,
      clock: systemClock,
      random: systemRandom,
      oldVersionMs: 20,
    });
    const show = (n: number) => {
      const file = { data: Buffer.from(Array<string>(2000).fill(`version ${n}`).join('\n')), mode: 0o644 };
      return writer.write(
        dir,
        new Map([
          ['a', file],
          ['b', file],
        ]),
      );
    };
    await show(0);
    const reader = new Worker(new URL('../support/version-reader.ts', import.meta.url), { workerData: { dir, opens: Opens } });
    let counts: { opens: number; missing: number; mixed: number; versions: number } | undefined;
    const done = once(reader, 'message').then(([message]) => {
      counts = message;
    });
    let updates = 0;
    while (counts === undefined) await show(++updates);
    await done;
    t.diagnostic(
      `${counts.opens} opens, ${updates} updates, ${counts.versions} versions seen, ${counts.missing} missing, ${counts.mixed} mixed`,
    );
    assert.ok(counts.versions > 10 && updates > 10, 'too few updates to show anything');
    assert.deepEqual([counts.missing, counts.mixed], [0, 0]);
  } finally {
    await rm(dir, { recursive: true });
  }
});
