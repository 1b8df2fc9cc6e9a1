import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatMicroTime,
  formatRfc3339Nano,
  formatTime,
  parseMicroTime,
  parseTime,
  TimeError,
  timeFromJson,
  timeFromMs,
  timeToJson,
  timeToMs,
  ZERO_TIME,
} from './time.ts';

const instant = fc.bigInt({ min: ZERO_TIME, max: 253_402_300_799n * 1_000_000_000n });

test('texts read back as the same instant, to their precision', () => {
  fc.assert(
    fc.property(instant, (t) => {
      assert.equal(parseTime(formatRfc3339Nano(t)), t);
      const floor = (unit: bigint) => t - (((t % unit) + unit) % unit);
      assert.equal(parseMicroTime(formatMicroTime(t)), floor(1000n));
      assert.equal(parseTime(formatTime(t)), floor(1_000_000_000n));
    }),
  );
});

test('the zero time is null', () => {
  assert.equal(timeFromJson(null), ZERO_TIME);
  assert.equal(timeToJson(ZERO_TIME), null);
  assert.equal(timeToJson(parseTime('0001-01-01T00:00:00Z')), null);
});

test('offsets, leap days, years below 100', () => {
  assert.equal(formatTime(parseTime('2024-02-29T12:00:00+05:30')), '2024-02-29T06:30:00Z');
  assert.equal(formatTime(parseTime('0050-01-01T00:00:00Z')), '0050-01-01T00:00:00Z');
  for (const bad of [
    '',
    '2023-02-29T00:00:00Z',
    '2030-01-02T03:04:05',
    '2030-01-02 03:04:05Z',
    '2030-01-02T24:00:00Z',
    '2030-01-02T03:04:05.Z',
  ])
    assert.throws(() => parseTime(bad), TimeError, bad);
  assert.throws(() => parseMicroTime('2030-01-02T03:04:05Z'), TimeError);
  assert.throws(() => timeFromJson(5), TimeError);
  assert.throws(() => formatTime(10n ** 30n), TimeError);
});

test('wall-clock milliseconds', () => {
  assert.equal(timeFromMs(1_893_553_445_999), '2030-01-02T03:04:05Z');
  assert.equal(timeToMs('2030-01-02T03:04:05Z'), 1_893_553_445_000);
});
