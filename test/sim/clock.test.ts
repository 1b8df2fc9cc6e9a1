import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from './clock.ts';

test('timers fire in the order of their due time, then of their making', async () => {
  const clock = new SimClock();
  const seen: string[] = [];
  clock.after(20, () => seen.push('b'));
  clock.after(10, () => seen.push('a'));
  clock.after(20, () => seen.push('c'));
  const cancelled = clock.after(15, () => seen.push('never'));
  cancelled.cancel();
  await clock.advance(19);
  assert.deepEqual(seen, ['a']);
  await clock.advance(1);
  assert.deepEqual(seen, ['a', 'b', 'c']);
  assert.equal(clock.monotonic(), 20);
});

test('promise chains and code that yields to the event loop settle before time moves on', async () => {
  const clock = new SimClock();
  const stamps: number[] = [];
  const chain = async () => {
    await clock.sleep(10);
    for (let i = 0; i < 50; i++) await Promise.resolve();
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    stamps.push(clock.monotonic());
    await clock.sleep(10);
    stamps.push(clock.monotonic());
  };
  const done = chain();
  clock.after(11, () => stamps.push(-1));
  await clock.advance(100);
  await done;
  assert.deepEqual(stamps, [10, -1, 20]);
});

test('runUntil stops at the first instant at which the predicate holds', async () => {
  const clock = new SimClock();
  let n = 0;
  const tick = () => {
    n++;
    clock.after(1000, tick);
  };
  clock.after(1000, tick);
  assert.equal(await clock.runUntil(() => n === 7, 60_000), true);
  assert.equal(clock.monotonic(), 7000);
  assert.equal(await clock.runUntil(() => n === 700, 10_000), false);
  assert.equal(clock.monotonic(), 17_000);
});

test('a sleep ends with its signal, and leaves no timer', async () => {
  const clock = new SimClock();
  const abort = new AbortController();
  const sleeping = assert.rejects(clock.sleep(1000, abort.signal), /enough/);
  clock.after(5, () => abort.abort(new Error('enough')));
  await clock.advance(5);
  await sleeping;
  assert.equal(clock.pending, 0);
});

test('wall time jumps without monotonic time', async () => {
  const clock = new SimClock(1_000_000);
  await clock.advance(500);
  clock.jump(-3000);
  assert.equal(clock.now(), 997_500);
  assert.equal(clock.monotonic(), 500);
});

test('delays that Node would fire at once by mistake are refused', () => {
  const clock = new SimClock();
  assert.throws(() => clock.after(2 ** 31, () => {}), RangeError);
  assert.throws(() => clock.after(Number.NaN, () => {}), RangeError);
});

test('an hour of a busy node takes a few seconds of real time at most', async () => {
  const clock = new SimClock();
  const loop = async (signal: AbortSignal) => {
    while (!signal.aborted) await clock.sleep(1000, signal).catch(() => {});
  };
  const abort = new AbortController();
  const loops = Array.from({ length: 20 }, () => loop(abort.signal));
  const before = process.hrtime.bigint();
  await clock.advance(3_600_000);
  const ms = Number(process.hrtime.bigint() - before) / 1e6;
  abort.abort(new Error('over'));
  await Promise.all(loops);
  assert.equal(clock.fired, 72_000);
  assert.ok(ms < 10_000, `took ${ms} ms`);
});
