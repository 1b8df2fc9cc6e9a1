import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { withRespite } from './respite.ts';

/** Work that ends when told to, or with the reason of its signal. */
function work() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const begin = (signal: AbortSignal) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    return promise;
  };
  return { begin, resolve };
}

test('work that is under way may come to its end after the abort', async () => {
  const clock = new SimClock();
  const abort = new AbortController();
  const { begin, resolve } = work();
  const result = withRespite(clock, abort.signal, 1000, begin);
  abort.abort(new Error('stop'));
  await clock.advance(999);
  resolve('done');
  assert.equal(await result, 'done');
  await clock.advance(5000);
});

test('work that goes on beyond the respite is cut off with the reason of the abort', async () => {
  const clock = new SimClock();
  const abort = new AbortController();
  const result = withRespite(clock, abort.signal, 1000, work().begin);
  const told = assert.rejects(result, /stop/);
  abort.abort(new Error('stop'));
  await clock.advance(1000);
  await told;
});

test('nothing begins after an abort', async () => {
  const abort = new AbortController();
  abort.abort(new Error('stop'));
  let begun = false;
  const result = withRespite(new SimClock(), abort.signal, 1000, () => {
    begun = true;
    return Promise.resolve();
  });
  await assert.rejects(result, /stop/);
  assert.equal(begun, false);
});
