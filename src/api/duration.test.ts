import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DurationError, durationFromJson, durationMs, formatDuration, formatDurationMs, parseDuration } from './duration.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test('the printed form reads back whole, where no fraction had to go through floating point', () => {
  fc.assert(
    fc.property(int64, (ns) => {
      const seconds = (ns / 1_000_000_000n) * 1_000_000_000n;
      assert.equal(parseDuration(formatDuration(seconds)), seconds);
    }),
  );
});

test('any text is read or refused with DurationError', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('1', '9', '.', '-', '+', 'h', 'm', 's', 'n', 'u', 'µ', ' ') }), (t) => {
      try {
        parseDuration(t);
      } catch (error) {
        assert.ok(error instanceof DurationError);
      }
    }),
  );
});

test('reads and prints as Go does', () => {
  assert.equal(formatDuration(parseDuration('90m')), '1h30m0s');
  assert.equal(formatDuration(parseDuration('-1.5µs')), '-1.5µs');
  assert.equal(parseDuration('0'), 0n);
  assert.equal(parseDuration('-2562047h47m16.854775808s'), -(2n ** 63n));
  for (const bad of ['', '1', '.s', '1 s', '1m-30s', '9999999h', '2562047h47m16.854775808s', '1'.repeat(9999)])
    assert.throws(() => parseDuration(bad), DurationError, bad);
  for (const bad of [1, null, true, {}]) assert.throws(() => durationFromJson(bad), DurationError);
});

test('milliseconds', () => {
  assert.equal(durationMs('1m30s'), 90_000);
  assert.equal(durationMs('1500us'), 1.5);
  assert.equal(formatDurationMs(10_000), '10s');
});
