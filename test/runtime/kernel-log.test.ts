import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import test from 'node:test';
import { systemClock } from '../../src/host/clock.ts';
import { kernelLog } from '../../src/host/kernel-log.ts';

test('the kernel log: only what is new, each record once', async () => {
  const mark = `kubelet-ts test ${process.pid}`;
  await writeFile('/dev/kmsg', `${mark} before\n`);
  const stop = new AbortController();
  const seen: string[] = [];
  const reader = (async () => {
    for await (const text of kernelLog(systemClock, stop.signal)) {
      if (text.startsWith(mark)) seen.push(text);
      if (text === `${mark} last`) stop.abort();
    }
  })();
  // It has to have come to the end first, which may take a moment.
  await systemClock.sleep(2_000);
  for (const word of ['one', 'two', 'last']) await writeFile('/dev/kmsg', `${mark} ${word}\n`);
  await reader;
  assert.deepEqual(
    seen,
    ['one', 'two', 'last'].map((word) => `${mark} ${word}`),
  );
});

test('the kernel log: a place where there is none is an error at once', async () => {
  const read = async () => {
    for await (const _ of kernelLog(systemClock, new AbortController().signal, '/nowhere/kmsg')) assert.fail();
  };
  await assert.rejects(read, { code: 'ENOENT' });
});
