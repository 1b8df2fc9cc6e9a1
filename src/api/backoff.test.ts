import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackoffTable, backoffRemaining, defaultBackoffPolicy, nextBackoff, restartBackoffPolicy } from './backoff.ts';

test('delays double from 10 s to 300 s and stay there', () => {
  const delays: number[] = [];
  let entry = nextBackoff(undefined, defaultBackoffPolicy, 0, 0);
  for (let i = 0; i < 7; i++) {
    delays.push(entry.delayMs / 1000);
    entry = nextBackoff(entry, defaultBackoffPolicy, entry.updatedAt + entry.delayMs, entry.updatedAt + entry.delayMs);
  }
  assert.deepEqual(delays, [10, 20, 40, 80, 160, 300, 300]);
});

test('the first event never waits, and the wait is measured from the event', () => {
  assert.equal(backoffRemaining(undefined, defaultBackoffPolicy, 5_000, 5_000), 0);
  const entry = { delayMs: 20_000, updatedAt: 1_000 };
  assert.equal(backoffRemaining(entry, defaultBackoffPolicy, 3_000, 3_000), 20_000);
  assert.equal(backoffRemaining(entry, defaultBackoffPolicy, 3_000, 22_999), 1);
  assert.equal(backoffRemaining(entry, defaultBackoffPolicy, 3_000, 23_000), 0);
  assert.equal(backoffRemaining(entry, defaultBackoffPolicy, 3_000, 90_000), 0);
});

test('an event more than 600 s after the last update starts afresh, at exactly 600 s it does not', () => {
  const entry = { delayMs: 300_000, updatedAt: 0 };
  assert.equal(nextBackoff(entry, defaultBackoffPolicy, 600_000, 600_000).delayMs, 300_000);
  assert.equal(nextBackoff(entry, defaultBackoffPolicy, 600_001, 600_001).delayMs, 10_000);
  assert.equal(backoffRemaining(entry, defaultBackoffPolicy, 600_001, 600_001), 0);
});

test('a configured maximum below 10 s is also the initial delay, and does not shorten the memory', () => {
  assert.deepEqual(restartBackoffPolicy(1_000), { initialMs: 1_000, maxMs: 1_000, forgetAfterMs: 600_000 });
  assert.deepEqual(restartBackoffPolicy(60_000, 1_000), { initialMs: 1_000, maxMs: 60_000, forgetAfterMs: 600_000 });
  assert.equal(restartBackoffPolicy(120_000).initialMs, 10_000);
});

test('a table keeps keys apart, resets and collects', () => {
  const table = new BackoffTable();
  assert.equal(table.remaining('a', 0), 0);
  assert.equal(table.next('a', 0, 0), 10_000);
  assert.equal(table.next('a', 10_000, 10_000), 20_000);
  assert.equal(table.next('b', 10_000, 10_000), 10_000);
  assert.equal(table.delay('a'), 20_000);
  assert.equal(table.remaining('a', 15_000), 15_000);
  assert.equal(table.remainingSince('a', 12_000, 15_000), 17_000);
  table.reset('a');
  assert.equal(table.remaining('a', 15_000), 0);
  table.collect(610_000);
  assert.equal(table.size, 1);
  table.collect(610_001);
  assert.equal(table.size, 0);
});
