import type { Clock, Timer } from '../host/clock.ts';

/** Something to do at a time. `cancel` may be called at any time, also afterwards. */
export interface Due {
  cancel(): void;
}

interface Entry extends Due {
  fn: (() => void) | undefined;
}

/** Times are rounded up to this, so that what is due at about the same time shares one wake-up. Milliseconds. */
const STEP_MS = 10;
/** So many are begun before the event loop gets its turn: connections of one instant must not block it. */
const AT_ONCE = 16;

/**
 * All waits of all probes on one timer. Waits of one step lie in one list, and a heap holds the steps: to wait costs a
 * push, and most time-outs are cancelled long before their step comes.
 */
export class Schedule {
  readonly #clock: Clock;
  /** By step number. */
  readonly #steps = new Map<number, Entry[]>();
  /** Step numbers, the least first. */
  readonly #heap: number[] = [];
  #timer: { at: number; timer: Timer } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `fn` once after `ms` milliseconds, never before the caller returned. Not exact: up to 10 ms late. */
  after(ms: number, fn: () => void): Due {
    const step = Math.ceil((this.#clock.monotonic() + Math.max(0, ms)) / STEP_MS);
    const entry: Entry = {
      fn,
      cancel() {
        this.fn = undefined;
      },
    };
    const list = this.#steps.get(step);
    if (list !== undefined) list.push(entry);
    else {
      this.#steps.set(step, [entry]);
      this.#push(step);
      this.#arm();
    }
    return entry;
  }

  /** Milliseconds on the clock that the waits run on. */
  now(): number {
    return this.#clock.monotonic();
  }

  #arm(): void {
    const step = this.#heap[0];
    if (step === undefined) return;
    const at = step * STEP_MS;
    if (this.#timer === undefined || this.#timer.at > at) this.#set(at);
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
    for (let step = this.#heap[0]; step !== undefined && step * STEP_MS <= now + 1; step = this.#heap[0]) {
      const list = this.#steps.get(step) ?? [];
      let at = 0;
      while (at < list.length && begun < AT_ONCE) {
        const entry = list[at++];
        const fn = entry?.fn;
        if (entry === undefined || fn === undefined) continue;
        entry.fn = undefined;
        begun += 1;
        fn();
      }
      if (at < list.length) {
        list.splice(0, at);
        this.#set(now);
        return;
      }
      this.#steps.delete(step);
      this.#pop();
    }
    this.#arm();
  }

  #push(step: number): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(step);
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up] ?? 0;
      if (parent <= step) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = step;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const leftStep = heap[left];
      if (leftStep === undefined) break;
      const rightStep = heap[left + 1] ?? Number.POSITIVE_INFINITY;
      const least = Math.min(leftStep, rightStep);
      if (least >= last) break;
      heap[i] = least;
      i = rightStep < leftStep ? left + 1 : left;
    }
    heap[i] = last;
  }
}
