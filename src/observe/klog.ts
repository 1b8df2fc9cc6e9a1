import { type DestinationStream, destination, type Logger as PinoLogger, pino } from 'pino';
import { type Caller, callerAbove } from './caller.ts';
import { errorText, klogBody, klogHeader, type Severity, toJson } from './klog-text.ts';
import type { Logger, LogValues } from './log.ts';
import { isSecretKey, redacted } from './redact.ts';
import { type VmoduleItem, vmoduleLevel } from './vmodule.ts';

export interface KlogOptions {
  format: 'text' | 'json';
  verbosity: number;
  vmodule?: readonly VmoduleItem[];
  /** Errors to stderr and the rest to stdout; otherwise everything to stderr. */
  splitStream?: boolean;
  /** Wall-clock milliseconds, with a fraction where the clock has one. */
  now: () => number;
  /** In place of stderr (and stdout), for tests. */
  streams?: { info: DestinationStream; error: DestinationStream };
}

/** The agent's log, and the handles that the process has on it. */
export interface Klog extends Logger {
  /** Takes effect at once, in all children. */
  setVerbosity(level: number): void;
  /** Writes out what is buffered; for the moment before the process ends. */
  flush(): void;
}

/** What waits for a slow reader of stderr at most; more is lost rather than kept in memory. */
const maxBufferedBytes = 4 << 20;

interface Output {
  write(severity: Severity, level: number, caller: Caller, err: unknown, msg: string, values: readonly LogValues[]): void;
}

class Core {
  verbosity: number;
  readonly vmodule: readonly VmoduleItem[];
  readonly output: Output;

  constructor(options: KlogOptions, output: Output) {
    this.verbosity = options.verbosity;
    this.vmodule = options.vmodule ?? [];
    this.output = output;
  }

  enabled(level: number, below: (...args: never[]) => unknown): boolean {
    if (level <= this.verbosity) return true;
    if (this.vmodule.length === 0) return false;
    return level <= (vmoduleLevel(this.vmodule, callerAbove(below).shortPath) ?? -1);
  }
}

class KlogLogger implements Logger {
  readonly #core: Core;
  readonly #values: readonly LogValues[];

  constructor(core: Core, values: readonly LogValues[]) {
    this.#core = core;
    this.#values = values;
  }

  info = (msg: string, values?: LogValues): void => this.#write('I', 0, this.info, undefined, msg, values);

  warn = (msg: string, values?: LogValues): void => this.#write('W', 0, this.warn, undefined, msg, values);

  error = (err: unknown, msg: string, values?: LogValues): void => this.#write('E', 0, this.error, err, msg, values);

  debug = (level: number, msg: string, values?: LogValues): void => {
    if (this.#core.enabled(level, this.debug)) this.#write('I', level, this.debug, undefined, msg, values);
  };

  enabled = (level: number): boolean => this.#core.enabled(level, this.enabled);

  child(values: LogValues): Logger {
    return new KlogLogger(this.#core, [...this.#values, values]);
  }

  #write(severity: Severity, level: number, below: (...args: never[]) => unknown, err: unknown, msg: string, values?: LogValues): void {
    const all = values === undefined ? this.#values : [...this.#values, values];
    this.#core.output.write(severity, level, callerAbove(below), err, msg, all);
  }
}

interface Streams {
  info: DestinationStream;
  error: DestinationStream;
}

function textOutput(streams: Streams, now: () => number): Output {
  return {
    write(severity, _level, caller, err, msg, values) {
      const line = klogHeader(severity, now(), process.pid, caller.file, caller.line) + klogBody(msg, err, values);
      (severity === 'E' ? streams.error : streams.info).write(`${line}\n`);
    },
  };
}

/** klog's JSON: ts (epoch milliseconds), caller, msg, v (not for errors), err, then the values. */
function jsonOutput(streams: Streams, now: () => number): Output {
  const create = (stream: DestinationStream): PinoLogger =>
    pino(
      {
        base: null,
        timestamp: () => `"ts":${Math.round(now() * 1e6) / 1e6}`,
        formatters: { level: () => ({}) },
        messageKey: 'msg',
      },
      stream,
    );
  const info = create(streams.info);
  const error = streams.error === streams.info ? info : create(streams.error);
  return {
    write(severity, level, caller, err, msg, values) {
      const entry: Record<string, unknown> = { caller: `${caller.shortPath}:${caller.line}` };
      if (severity !== 'E') entry['v'] = level;
      for (const set of values) for (const key in set) entry[key] = jsonValue(key, set[key]);
      if (err !== undefined) entry['err'] = errorText(err);
      (severity === 'E' ? error : info).info(entry, msg);
    },
  };
}

function jsonValue(key: string, value: unknown): unknown {
  if (isSecretKey(key)) return redacted;
  if (value instanceof Error) return errorText(value);
  if (typeof value === 'bigint' || (typeof value === 'object' && value !== null)) return JSON.parse(toJson(value));
  return value;
}

/**
 * The log in klog's text or JSON form, on pino's buffered writer and without its worker threads. Lines leave
 * asynchronously, so that a slow reader of stderr does not hold up the agent; `flush` writes what is left.
 */
export function createKlog(options: KlogOptions): Klog {
  const opened: { flushSync(): void }[] = [];
  const open = (fd: number): DestinationStream => {
    const stream = destination({ fd, sync: false, minLength: 0, maxLength: maxBufferedBytes });
    // A closed pipe must not end the agent: a node without a log is better than none.
    stream.on('error', () => {});
    opened.push(stream);
    return stream;
  };
  const stderr = options.streams === undefined ? open(2) : undefined;
  const streams: Streams =
    options.streams ??
    (options.splitStream === true ? { info: open(1), error: stderr ?? open(2) } : { info: stderr ?? open(2), error: stderr ?? open(2) });
  const output = options.format === 'json' ? jsonOutput(streams, options.now) : textOutput(streams, options.now);
  const core = new Core(options, output);
  const logger = new KlogLogger(core, []);
  return Object.assign(logger, {
    setVerbosity(level: number) {
      core.verbosity = level;
    },
    flush() {
      for (const stream of opened) {
        try {
          stream.flushSync();
        } catch {
          // Not opened yet, or nobody reads any more: there is nothing left to save.
        }
      }
    },
  });
}
