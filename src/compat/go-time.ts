import { parseTime, ZERO_TIME } from '../api/time.ts';

const SECOND = 1_000_000_000n;

/**
 * As Go prints a metav1.Time in a value dump (undefined: never set), without a location: the real one prints its loaded
 * time zone there, whose cache depends on when the process started, so a pod that carries a time has no stable form.
 */
export function dumpTime(text: string | undefined): string {
  const sinceYearOne = text === undefined ? 0n : parseTime(text) - ZERO_TIME;
  const nanos = ((sinceYearOne % SECOND) + SECOND) % SECOND;
  return `{Time:(time.Time){wall:(uint64)${nanos} ext:(int64)${(sinceYearOne - nanos) / SECOND} loc:(*time.Location)<nil>}}`;
}
