import type { Clock } from '../../host/clock.ts';
import type { LogFile } from '../../host/log-file.ts';
import { Pause } from '../../host/pause.ts';
import { LogFormatter } from './log-formatter.ts';
import type { LogOptions } from './log-options.ts';

export interface ReadLogInput {
  options: LogOptions;
  /** Opens the container's log, again after a rotation. Rejects when it is not there. */
  open(): Promise<LogFile>;
  /** Whether the container may still write. */
  isRunning(): Promise<boolean>;
  /** Calls `changed` when something happens to the log's path; returns the end of that. */
  watch(changed: () => void): { refresh(): Promise<void>; close(): void };
  clock: Clock;
  signal: AbortSignal;
}

/** A block takes up to 10 ms before the code is compiled, and other work comes in between. */
const BLOCK_BYTES = 32 << 10;
/** Contract http-api §7: without news from the file system it is looked at every second. */
const POLL_MS = 1_000;
/**
 * containerd writes what it had taken for the old file (half a line among it) a moment after it began the new one: the
 * old one is left when it did not grow for so long.
 */
const OLD_FILE_QUIET_MS = 300;

/**
 * The text of a container's log, in blocks of at most about 32 KiB: memory does not depend on the log's length. A followed
 * log goes on over rotations and ends when the container has ended and all it wrote was read. Rejects when the log
 * cannot be opened.
 */
export async function* readLog(input: ReadLogInput): AsyncGenerator<Buffer, void> {
  const { options, signal } = input;
  let file = await input.open();
  try {
    let position = options.tailLines === undefined ? 0 : await tailStart(file, options.tailLines);
    const formatter = new LogFormatter(options, options.follow ? undefined : options.tailLines);
    const follower = options.follow ? new Follower(input) : undefined;
    try {
      while (!signal.aborted && !formatter.full) {
        const block = await file.read(position, BLOCK_BYTES);
        position += block.length;
        if (block.length > 0) {
          const text = formatter.feed(block);
          if (text.length > 0) yield text;
          continue;
        }
        const next = (await follower?.atEnd(file)) ?? 'ended';
        if (next === 'ended') break;
        if (next === 'same') continue;
        const rest = formatter.end();
        if (rest.length > 0) yield rest;
        await file.close();
        file = next;
        position = 0;
      }
      const text = formatter.end();
      if (text.length > 0 && !signal.aborted) yield text;
    } finally {
      follower?.close();
    }
  } finally {
    await file.close();
  }
}

/** What to do at the end of the file. */
class Follower {
  readonly #input: ReadLogInput;
  readonly #pause: Pause;
  readonly #watch: { refresh(): Promise<void>; close(): void };
  #changed = false;
  #watching = false;
  /** A file that was replaced, and its size before the last wait. */
  #old: { file: LogFile; size: number } | undefined;
  #ended = false;

  constructor(input: ReadLogInput) {
    this.#input = input;
    this.#pause = new Pause(input.clock);
    this.#watch = input.watch(() => {
      this.#changed = true;
      this.#pause.poke();
    });
  }

  /** `same`: read on; a file: read that from its begin. */
  async atEnd(file: LogFile): Promise<'ended' | 'same' | LogFile> {
    if (!this.#watching) {
      // What was written before the watch was set is found by reading once more.
      this.#watching = true;
      await this.#watch.refresh();
      return 'same';
    }
    if (await file.replaced()) {
      const { clock, open, signal } = this.#input;
      const size = await file.size();
      if (this.#old?.file !== file || this.#old.size !== size) {
        this.#old = { file, size };
        await clock.sleep(OLD_FILE_QUIET_MS, signal).catch(() => {});
        return 'same';
      }
      try {
        return await open();
      } catch {
        this.#old = undefined;
      }
    }
    if (this.#ended) return 'ended';
    if (!this.#changed) await this.#pause.wait(POLL_MS, this.#input.signal);
    if (this.#input.signal.aborted) return 'ended';
    if (!this.#changed && !(await this.#input.isRunning())) this.#ended = true;
    this.#changed = false;
    return 'same';
  }

  close(): void {
    this.#watch.close();
  }
}

/** Where the last `lines` lines of the file begin. A last line without an end counts beside them. */
export async function tailStart(file: Pick<LogFile, 'read' | 'size'>, lines: number): Promise<number> {
  const size = await file.size();
  if (lines === 0) return size;
  let missing = lines + 1;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const block = await file.read(start, end - start);
    for (let at = block.lastIndexOf(0x0a); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(0x0a, at - 1)) {
      missing -= 1;
      if (missing === 0) return start + at + 1;
    }
    end = start;
  }
  return 0;
}
