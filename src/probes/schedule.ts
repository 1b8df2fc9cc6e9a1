import type { Clock, Timer } from '../host/clock.ts';

/** Something to do at a time. `cancel` may be called at any time, also afterwards. */
export interface Due {
  cancel(): void;
}

interface Entry {
  at: number;
  order: number;
  fn: (() => void) | undefined;
}

/** Times are rounded up to this, so that what is due at about the same time shares one wake-up. Milliseconds. */
const STEP_MS = 10;
/** So many are begun before the event loop gets its turn: connections of one instant must not block it. */
const AT_ONCE = 16;

/** All waits of all probes on one timer: a heap of what is due next. */
export class Schedule {
  readonly #clock: Clock;
  readonly #heap: Entry[] = [];
  #order = 0;
  #timer: { at: number; timer: Timer } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `fn` once after `ms` milliseconds, never before the caller returned. Not exact: up to 10 ms late. */
  after(ms: number, fn: () => void): Due {
    const entry: Entry = { at: this.#clock.monotonic() + Math.max(0, ms), order: this.#order++, fn };
    this.#push(entry);
    this.#arm();
    return {
      cancel: () => {
        entry.fn = undefined;
      },
    };
  }

  /** Milliseconds on the clock that the waits run on. */
  now(): number {
    return this.#clock.monotonic();
  }

  /** Entries that are neither over nor cancelled. */
  get waiting(): number {
    return this.#heap.reduce((n, entry) => (entry.fn === undefined ? n : n + 1), 0);
  }

  #arm(): void {
    while (this.#heap[0] !== undefined && this.#heap[0].fn === undefined) this.#pop();
    const top = this.#heap[0];
    if (top === undefined) return;
    const at = Math.ceil(top.at / STEP_MS) * STEP_MS;
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    this.#set(at);
  }

  #set(at: number): void {
    this.#timer?.timer.cancel();
    const ms = Math.max(1, at - this.#clock.monotonic());
    this.#timer = { at, timer: this.#clock.after(ms, () => this.#run(), true) };
  }

  #run(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    let begun = 0;
    // A timer may fire a fraction of a millisecond early.
    for (let top = this.#heap[0]; top !== undefined && top.at <= now + 1; top = this.#heap[0]) {
      if (begun === AT_ONCE) {
        this.#set(now);
        return;
      }
      this.#pop();
      if (top.fn === undefined) continue;
      begun += 1;
      const { fn } = top;
      top.fn = undefined;
      fn();
    }
    this.#arm();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const right = heap[left + 1];
      const leftEntry = heap[left];
      if (leftEntry === undefined) break;
      const takeRight = right !== undefined && isBefore(right, leftEntry);
      const least = takeRight ? right : leftEntry;
      if (!isBefore(least, last)) break;
      heap[i] = least;
      i = takeRight ? left + 1 : left;
    }
    heap[i] = last;
  }
}

const isBefore = (a: Entry, b: Entry) => a.at < b.at || (a.at === b.at && a.order < b.order);
