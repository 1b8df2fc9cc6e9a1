/** One line of a container's log file. */
export interface CriLogLine {
  /** RFC 3339 with nanoseconds, as written. */
  timestamp: string;
  stream: 'stdout' | 'stderr';
  /** The text goes on in the next line of this stream. */
  partial: boolean;
  /** What the container wrote, without the line's end; any bytes. */
  text: Buffer;
}

const space = 0x20;
/** `2006-01-02T15:04:05.999999999Z07:00`: no longer prefix than this can be a time. */
const longestTimestamp = 40;

/**
 * Reads one line of the CRI log format, `{RFC3339Nano} {stdout|stderr} {P|F}[:tags] {text}` (contract:
 * pod-lifecycle.md §12). `line` comes without its newline. Undefined when it is something else.
 */
export function parseCriLogLine(line: Buffer): CriLogLine | undefined {
  const first = line.indexOf(space);
  const second = line.indexOf(space, first + 1);
  if (first < 20 || first > longestTimestamp || second < 0) return undefined;
  const stream = line.toString('latin1', first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const timestamp = line.toString('latin1', 0, first);
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.test(timestamp)) return undefined;
  const third = line.indexOf(space, second + 1);
  const tag = line.toString('latin1', second + 1, third < 0 ? line.length : third).split(':', 1)[0];
  if (tag !== 'P' && tag !== 'F') return undefined;
  return { timestamp, stream, partial: tag === 'P', text: third < 0 ? Buffer.alloc(0) : line.subarray(third + 1) };
}

/** The lines of `data` without their newlines; a last line without one counts too. */
export function* splitLines(data: Buffer): Generator<Buffer> {
  let start = 0;
  while (start < data.length) {
    const end = data.indexOf(0x0a, start);
    yield data.subarray(start, end < 0 ? data.length : end);
    if (end < 0) return;
    start = end + 1;
  }
}
