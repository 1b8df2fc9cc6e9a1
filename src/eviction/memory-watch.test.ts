import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { Quantity } from '../api/quantity.ts';
import { MemoryWatch } from './memory-watch.ts';
import { parseThresholds } from './thresholds.ts';

test('a crossing is told once, within a second, and again only after the memory came back; what cannot be read crosses nothing', async () => {
  const clock = new SimClock();
  const crossings: number[] = [];
  let left: number | undefined = 200;
  const watch = new MemoryWatch({
    clock,
    thresholds: parseThresholds({
      allocatable: [],
      hard: { 'memory.available': '100', 'nodefs.available': '100' },
      soft: {},
      softGrace: {},
      minReclaim: {},
    }),
    observe: async () => {
      if (left === undefined) throw new Error('gone');
      return new Map([['memory.available', { available: Quantity.of(left), capacity: Quantity.of(1000), atMs: clock.now() }] as const]);
    },
    crossed: () => void crossings.push(Math.round(clock.monotonic() / 1000)),
  });
  const stop = new AbortController();
  watch.start(stop.signal);
  await clock.advance(10_500);
  assert.deepEqual(crossings, []);
  left = 99;
  await clock.advance(60_000);
  assert.deepEqual(crossings, [11]);
  left = 100;
  await clock.advance(5_000);
  left = 50;
  await clock.advance(5_000);
  left = undefined;
  await clock.advance(5_000);
  assert.deepEqual(crossings, [11, 76]);
  stop.abort(new Error('over'));
  await watch.stop();
});
