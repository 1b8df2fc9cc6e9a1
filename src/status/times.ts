import { formatTime, parseTime, TimeError } from '../api/time.ts';

/** Wall-clock milliseconds as RFC 3339 in whole seconds, UTC: the API server keeps no fraction. */
export function isoSeconds(ms: number): string {
  return formatTime(BigInt(Math.floor(ms)) * 1_000_000n);
}

/** An RFC 3339 time cut to whole seconds in UTC; a text that is no time, and no time at all, stay as they are. */
export function cutToSeconds<T extends string | null | undefined>(time: T): T | string {
  if (typeof time !== 'string') return time;
  try {
    return formatTime(parseTime(time));
  } catch (err) {
    if (err instanceof TimeError) return time;
    throw err;
  }
}
