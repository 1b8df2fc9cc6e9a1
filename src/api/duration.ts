/** Durations as Go writes and reads them ("1h30m0s"), in nanoseconds. Source: vectors durations-and-times. */

export class DurationError extends Error {
  readonly code = 'invalid-duration';
  constructor(text: string, reason: string) {
    super(`invalid duration ${JSON.stringify(text.slice(0, 80))}: ${reason}`);
    this.name = 'DurationError';
  }
}

export const NANOSECOND = 1n;
export const MICROSECOND = 1000n;
export const MILLISECOND = 1_000_000n;
export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;

/** Micro is written with the micro sign or with the Greek letter. */
const UNITS = new Map([
  ['ns', NANOSECOND],
  ['us', MICROSECOND],
  ['\u00b5s', MICROSECOND],
  ['\u03bcs', MICROSECOND],
  ['ms', MILLISECOND],
  ['s', SECOND],
  ['m', MINUTE],
  ['h', HOUR],
]);
const MAX = 2n ** 63n - 1n;
const MAX_LENGTH = 4096;

/** The part after the point, as Go computes it: in floating point, digits beyond 63 bits ignored. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (value > MAX / 10n || next > MAX + 1n) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

/** Nanoseconds of a text like "1h30m", ".5s", "-100ms" or "0". Throws DurationError, also beyond 64 bits. */
export function parseDuration(text: string): bigint {
  if (text.length > MAX_LENGTH) throw new DurationError(text, 'it is too long');
  const negative = text.startsWith('-');
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text;
  if (unsigned === '0') return 0n;
  if (unsigned === '') throw new DurationError(text, 'want a number and a unit, as in 1m30s');
  let total = 0n;
  const term = /([0-9]*)(\.[0-9]*)?([^0-9.]*)/y;
  while (term.lastIndex < unsigned.length) {
    const [, whole = '', fraction = '', unitName = ''] = term.exec(unsigned) ?? [];
    if (whole === '' && fraction.length < 2) throw new DurationError(text, 'want a digit');
    if (unitName === '') throw new DurationError(text, 'a number has no unit (ns, us, ms, s, m, h)');
    const unit = UNITS.get(unitName);
    if (unit === undefined) throw new DurationError(text, `unknown unit ${JSON.stringify(unitName)} (ns, us, ms, s, m, h)`);
    total += BigInt(whole === '' ? '0' : whole) * unit + fractionOf(fraction.slice(1), unit);
    if (total > MAX + 1n) throw new DurationError(text, 'it is beyond 64 bits of nanoseconds');
  }
  if (!negative && total > MAX) throw new DurationError(text, 'it is beyond 64 bits of nanoseconds');
  return negative ? -total : total;
}

/** Reads a JSON value, which must be a text. Throws DurationError. */
export function durationFromJson(value: unknown): bigint {
  if (typeof value !== 'string') throw new DurationError(String(JSON.stringify(value)), 'want a text, as in "1m30s"');
  return parseDuration(value);
}

function withFraction(n: bigint, unit: bigint): string {
  const fraction = (n % unit)
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${n / unit}` : `${n / unit}.${fraction}`;
}

/** The canonical text: "0s", "1.5µs", "100ms", "1m30s", "1h0m0s". */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const n = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (n < MICROSECOND) return `${sign}${n}ns`;
  if (n < MILLISECOND) return `${sign}${withFraction(n, MICROSECOND)}\u00b5s`;
  if (n < SECOND) return `${sign}${withFraction(n, MILLISECOND)}ms`;
  const hours = n / HOUR;
  const minutes = (n % HOUR) / MINUTE;
  const seconds = withFraction(n % MINUTE, SECOND);
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

/** Milliseconds of a duration text; fractions of a millisecond are kept. Throws DurationError. */
export function durationMs(text: string): number {
  return Number(parseDuration(text)) / 1e6;
}

/** The text of a number of milliseconds. */
export function formatDurationMs(milliseconds: number): string {
  return formatDuration(BigInt(Math.round(milliseconds * 1e6)));
}
