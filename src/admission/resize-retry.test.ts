import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { ResizeRetry } from './resize-retry.ts';

test('waiting resizes are tried after 30 s until the sources are ready, then every three minutes; the end writes what is left', async () => {
  const clock = new SimClock();
  const done: string[] = [];
  let ready = false;
  const retry = new ResizeRetry({
    clock,
    load: async () => void done.push('load'),
    save: async () => void done.push('save'),
    retry: () => done.push(`retry ${clock.monotonic() / 1000}`),
    ready: () => ready,
  });
  const stop = new AbortController();
  await retry.start(stop.signal);
  await clock.advance(61_000);
  ready = true;
  await clock.advance(400_000);
  stop.abort();
  await retry.stop();
  assert.deepEqual(done, ['load', 'retry 30', 'retry 60', 'retry 90', 'retry 270', 'retry 450', 'save']);
});

test('a damaged record keeps the agent from starting', async () => {
  const retry = new ResizeRetry({
    clock: new SimClock(),
    load: () => Promise.reject(new Error('damaged')),
    save: async () => {},
    retry: () => {},
    ready: () => true,
  });
  await assert.rejects(async () => retry.start(new AbortController().signal), /damaged/);
});
