/** Where a log line was written in the source. */
export interface Caller {
  /** Base name. */
  file: string;
  /** The last folder and the base name. */
  shortPath: string;
  line: number;
}

const unknown: Caller = { file: '???', shortPath: '???', line: 1 };

/**
 * The first frame above `below`, the function that the caller called. Costs about 5 µs: only for lines that are
 * printed.
 */
export function callerAbove(below: (...args: never[]) => unknown): Caller {
  const holder: { stack?: string } = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, below);
  Error.stackTraceLimit = limit;
  const frame = holder.stack ?? '';
  const place = /([^/\s(]+\/)?([^/\s(]+):(\d+):\d+\)?$/.exec(frame);
  if (place === null) return unknown;
  const file = place[2] ?? '???';
  return { file, shortPath: `${place[1] ?? ''}${file}`, line: Number(place[3]) };
}
