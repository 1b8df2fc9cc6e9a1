import { parseCriLogLine } from '../../containers/log-format.ts';
import { type LogOptions, nanosecondsOf } from './log-options.ts';

/** A line longer than this is passed on before its end has come. */
const MAX_HELD_BYTES = 1 << 20;
const NEWLINE = 0x0a;
const newline = Buffer.from('\n');

interface Line {
  timestamp: string;
  stream: 'stdout' | 'stderr';
  /** What the container wrote; with its newline unless it goes on. */
  text: Buffer;
  ends: boolean;
}

/** Turns the bytes of a log file, in any pieces, into what `kubectl logs` shows. Lines that cannot be read are left out. */
export class LogFormatter {
  readonly #options: Pick<LogOptions, 'timestamps' | 'since' | 'stream'>;
  #held = Buffer.alloc(0);
  /** Within a line that was too long to hold: whether the rest is shown. */
  #passing: { show: boolean } | undefined;
  #atLineStart = true;
  #bytesLeft: number;
  #linesLeft: number;

  /** `maxLines`: of the file, for a tail that does not follow. */
  constructor(options: Pick<LogOptions, 'timestamps' | 'since' | 'stream' | 'limitBytes'>, maxLines = Number.POSITIVE_INFINITY) {
    this.#options = options;
    this.#bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY;
    this.#linesLeft = maxLines;
  }

  /** Nothing more will come out: a limit is reached. */
  get full(): boolean {
    return this.#bytesLeft <= 0 || this.#linesLeft <= 0;
  }

  /** What these bytes give to show. */
  feed(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let scanned = this.#held.length;
    while (!this.full) {
      const end = rest.indexOf(NEWLINE, scanned);
      scanned = 0;
      if (end < 0) break;
      this.#whole(rest.subarray(0, end), true, out);
      rest = rest.subarray(end + 1);
    }
    if (this.#passing !== undefined || rest.length > MAX_HELD_BYTES) {
      this.#piece(rest, out);
      rest = Buffer.alloc(0);
    }
    this.#held = Buffer.from(rest);
    return Buffer.concat(out);
  }

  /** What a last line without an end gives to show. */
  end(): Buffer {
    const out: Buffer[] = [];
    if (this.#held.length > 0 && !this.full) this.#whole(this.#held, false, out);
    this.#held = Buffer.alloc(0);
    return Buffer.concat(out);
  }

  #whole(line: Buffer, complete: boolean, out: Buffer[]): void {
    if (this.#passing !== undefined) {
      if (this.#passing.show) this.#emit([line, newline], out);
      this.#passing = undefined;
      this.#atLineStart = true;
      this.#linesLeft -= 1;
      return;
    }
    const parsed = parseLine(line);
    if (parsed === undefined) return;
    if (this.#shows(parsed)) {
      const text = parsed.ends && complete ? [parsed.text, newline] : [parsed.text];
      this.#emit([...this.#prefix(parsed), ...text], out);
    }
    this.#linesLeft -= 1;
    this.#atLineStart = parsed.ends;
  }

  /** The begin, or another part, of a line that is too long. */
  #piece(part: Buffer, out: Buffer[]): void {
    if (this.#passing !== undefined) {
      if (this.#passing.show) this.#emit([part], out);
      return;
    }
    const parsed = parseLine(part);
    this.#passing = { show: parsed !== undefined && this.#shows(parsed) };
    if (parsed !== undefined && this.#passing.show) this.#emit([...this.#prefix(parsed), parsed.text], out);
  }

  #shows({ timestamp, stream }: Line): boolean {
    const { since, stream: wanted } = this.#options;
    if (since !== undefined && (nanosecondsOf(timestamp) ?? since) < since) return false;
    return wanted === 'All' || wanted.toLowerCase() === stream;
  }

  #prefix({ timestamp }: Line): Buffer[] {
    return this.#options.timestamps && this.#atLineStart ? [Buffer.from(`${fixedTime(timestamp)} `)] : [];
  }

  #emit(parts: readonly Buffer[], out: Buffer[]): void {
    for (const part of parts) {
      if (this.#bytesLeft <= 0) return;
      const cut = part.length > this.#bytesLeft ? part.subarray(0, this.#bytesLeft) : part;
      this.#bytesLeft -= cut.length;
      out.push(cut);
    }
  }
}

function parseLine(line: Buffer): Line | undefined {
  const cri = parseCriLogLine(line);
  if (cri !== undefined) return { timestamp: cri.timestamp, stream: cri.stream, text: cri.text, ends: !cri.partial };
  return line[0] === 0x7b ? parseJsonLine(line) : undefined;
}

/** A line of docker's json-file driver: the newline is part of `log`. */
function parseJsonLine(line: Buffer): Line | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { log, stream, time } = value as Record<string, unknown>;
  if (typeof log !== 'string' || typeof time !== 'string' || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  if (nanosecondsOf(time) === undefined) return undefined;
  const ends = log.endsWith('\n');
  return { timestamp: time, stream, text: Buffer.from(ends ? log.slice(0, -1) : log), ends };
}

/** With nine digits of a second, whatever the file has. */
function fixedTime(timestamp: string): string {
  const zone = timestamp.endsWith('Z') ? timestamp.length - 1 : timestamp.length - 6;
  return `${timestamp.slice(0, 19)}.${timestamp.slice(20, zone).padEnd(9, '0')}${timestamp.slice(zone)}`;
}
