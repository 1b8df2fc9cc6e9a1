/**
 * metav1.Time and metav1.MicroTime: instants in RFC 3339 text, as Go reads and writes them. An instant is a bigint of
 * nanoseconds since 1970. Source: vectors durations-and-times.
 */

export class TimeError extends Error {
  readonly code = 'invalid-time';
  constructor(text: string, reason: string) {
    super(`invalid time ${JSON.stringify(text.slice(0, 80))}: ${reason}`);
    this.name = 'TimeError';
  }
}

/** Go's zero time, the first second of the year 1. It is written as null. */
export const ZERO_TIME = -62_135_596_800n * 1_000_000_000n;

const SECOND = 1_000_000_000n;
/** The hour may have one digit, and a comma stand for the point, because Go's reader takes that. */
const DATE_TIME = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})/;
const FRACTION = /^[.,]([0-9]+)/;
const MICRO_FRACTION = /^[.,]\+?([0-9]+)/;
const ZONE = /^(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/;

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function unixSeconds(text: string, match: RegExpExecArray): bigint {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  if (month < 1 || month > 12) throw new TimeError(text, 'month out of range');
  if (hour > 23) throw new TimeError(text, 'hour out of range');
  if (minute > 59) throw new TimeError(text, 'minute out of range');
  if (second > 59) throw new TimeError(text, 'second out of range');
  if (day < 1 || day > daysInMonth(year, month)) throw new TimeError(text, 'day out of range');
  // Date.UTC would take the years below 100 for 1900 and later.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return BigInt(date.getTime() / 1000);
}

function zoneOffsetSeconds(text: string, zone: string): bigint {
  const match = ZONE.exec(zone);
  if (match === null) throw new TimeError(text, 'want Z or an offset as +02:00 at the end');
  const [, sign, hours = '0', minutes = '0'] = match;
  // Offsets of 24 hours and 60 minutes are read, too.
  if (Number(hours) > 24 || Number(minutes) > 60) throw new TimeError(text, 'zone offset out of range');
  const offset = BigInt(hours) * 3600n + BigInt(minutes) * 60n;
  return sign === '-' ? -offset : offset;
}

function parseWith(text: string, micro: boolean): bigint {
  const match = DATE_TIME.exec(text);
  if (match === null) throw new TimeError(text, 'want a time as 2030-01-02T03:04:05Z');
  let rest = text.slice(match[0].length);
  let nanos = 0n;
  if (micro) {
    const fraction = MICRO_FRACTION.exec(rest.slice(0, 7));
    if (fraction === null || fraction[0].length !== 7) throw new TimeError(text, 'want exactly six digits after the seconds');
    nanos = BigInt(fraction[1] ?? '0') * 1000n;
    rest = rest.slice(7);
  } else {
    const fraction = FRACTION.exec(rest);
    if (fraction !== null) {
      nanos = BigInt((fraction[1] ?? '').slice(0, 9).padEnd(9, '0'));
      rest = rest.slice(fraction[0].length);
    }
  }
  const seconds = unixSeconds(text, match);
  return (seconds - zoneOffsetSeconds(text, rest)) * SECOND + nanos;
}

/** Reads RFC 3339 with any fraction of a second. Throws TimeError. */
export function parseTime(text: string): bigint {
  return parseWith(text, false);
}

/** Reads RFC 3339 with exactly six digits of a second. Throws TimeError. */
export function parseMicroTime(text: string): bigint {
  return parseWith(text, true);
}

function fromJson(value: unknown, parse: (text: string) => bigint): bigint {
  if (value === null) return ZERO_TIME;
  if (typeof value !== 'string') throw new TimeError(String(JSON.stringify(value)), 'want a text');
  return parse(value);
}

/** Reads a JSON value; null is ZERO_TIME. Throws TimeError. */
export const timeFromJson = (value: unknown): bigint => fromJson(value, parseTime);
/** Reads a JSON value; null is ZERO_TIME. Throws TimeError. */
export const microTimeFromJson = (value: unknown): bigint => fromJson(value, parseMicroTime);

const two = (n: number): string => String(n).padStart(2, '0');

/** Date and time without fraction and zone, and the nanoseconds within the second. */
function split(unixNano: bigint): { text: string; nanos: bigint } {
  const nanos = ((unixNano % SECOND) + SECOND) % SECOND;
  const date = new Date(Number((unixNano - nanos) / SECOND) * 1000);
  if (Number.isNaN(date.getTime())) throw new TimeError(unixNano.toString(), 'beyond the years that can be written');
  const year = date.getUTCFullYear();
  const yearText = `${year < 0 ? '-' : ''}${String(Math.abs(year)).padStart(4, '0')}`;
  const day = `${yearText}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
  return { text: `${day}T${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`, nanos };
}

/** Text of a metav1.Time: UTC, whole seconds. */
export function formatTime(unixNano: bigint): string {
  return `${split(unixNano).text}Z`;
}

/** Text of a metav1.MicroTime: UTC, six digits, truncated. */
export function formatMicroTime(unixNano: bigint): string {
  const { text, nanos } = split(unixNano);
  return `${text}.${nanos.toString().padStart(9, '0').slice(0, 6)}Z`;
}

/** Go's RFC3339Nano in UTC: as many digits as needed. */
export function formatRfc3339Nano(unixNano: bigint): string {
  const { text, nanos } = split(unixNano);
  const fraction = nanos === 0n ? '' : `.${nanos.toString().padStart(9, '0').replace(/0+$/, '')}`;
  return `${text}${fraction}Z`;
}

/** JSON value of a metav1.Time. */
export const timeToJson = (unixNano: bigint): string | null => (unixNano === ZERO_TIME ? null : formatTime(unixNano));
/** JSON value of a metav1.MicroTime. */
export const microTimeToJson = (unixNano: bigint): string | null => (unixNano === ZERO_TIME ? null : formatMicroTime(unixNano));

/** metav1.Time text of wall-clock milliseconds, as `Clock.now()` gives them. */
export function timeFromMs(unixMs: number): string {
  return formatTime(BigInt(Math.floor(unixMs)) * 1_000_000n);
}

/** Wall-clock milliseconds of a metav1.Time text. Throws TimeError. */
export function timeToMs(text: string): number {
  return Number(parseTime(text) / 1_000_000n);
}
