import { type Clock, sleepWith, type Timer } from '../../src/host/clock.ts';

interface Entry {
  due: number;
  order: number;
  fn: (() => void) | undefined;
}

/** The largest delay that Node's own timers keep; they fire at once (with a warning) beyond it. */
const maxDelayMs = 2 ** 31 - 1;
/** So many timers without a drain that ends mean that two parts of the world wake each other for ever. */
const maxTimersPerInstant = 100_000;
const maxDrainRounds = 10_000;

/**
 * Virtual time. Nothing moves until `advance` or `runUntil` is called; they fire timers in the order of their due
 * time (then of their making) and let every promise settle in between. Wall time starts at `epochMs` and can be set
 * apart from monotonic time with `jump`.
 */
export class SimClock implements Clock {
  #elapsed = 0;
  #wall: number;
  #order = 0;
  #heap: Entry[] = [];
  #fired = 0;
  #running = false;

  constructor(epochMs = Date.UTC(2026, 0, 1)) {
    this.#wall = epochMs;
  }

  now(): number {
    return Math.floor(this.#wall + this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  /** Timers fired so far: a cheap measure of how busy a simulated agent is. */
  get fired(): number {
    return this.#fired;
  }

  /** Timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.#heap.reduce((n, entry) => (entry.fn ? n + 1 : n), 0);
  }

  after(ms: number, fn: () => void, _background?: boolean): Timer {
    if (!(ms <= maxDelayMs)) throw new RangeError(`timer of ${ms} ms: Node's timers take at most ${maxDelayMs} ms`);
    const entry: Entry = { due: this.#elapsed + Math.max(1, ms), order: this.#order++, fn };
    this.#push(entry);
    return {
      cancel: () => {
        entry.fn = undefined;
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal);
  }

  /** Steps the wall clock by `ms` (may be negative) without touching monotonic time, as an administrator or NTP does. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** Lets `ms` of virtual time pass. */
  async advance(ms: number): Promise<void> {
    await this.#run(() => false, ms);
  }

  /** Lets time pass until `predicate` holds; false when it still does not after `maxMs`. */
  runUntil(predicate: () => boolean, maxMs: number): Promise<boolean> {
    return this.#run(predicate, maxMs);
  }

  /** Lets every promise chain settle without letting time pass. */
  async settle(): Promise<void> {
    for (let round = 0; round < maxDrainRounds; round++) {
      const before = this.#order;
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#order === before && !hasImmediateWork()) return;
    }
    throw new Error(`simulated world never settles at ${this.#elapsed} ms`);
  }

  async #run(predicate: () => boolean, ms: number): Promise<boolean> {
    if (this.#running) throw new Error('advance or runUntil called while one is running');
    this.#running = true;
    try {
      const end = this.#elapsed + ms;
      let here = 0;
      await this.settle();
      while (!predicate()) {
        const next = this.#pop(end);
        if (next === undefined) {
          this.#elapsed = end;
          return predicate();
        }
        here = next.due > this.#elapsed ? 0 : here + 1;
        if (here > maxTimersPerInstant) throw new Error(`time stands still at ${this.#elapsed} ms`);
        this.#elapsed = Math.max(this.#elapsed, next.due);
        this.#fired++;
        next.fn?.();
        await this.settle();
      }
      return true;
    } finally {
      this.#running = false;
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up] as Entry;
      if (!before(entry, parent)) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = entry;
  }

  /** Takes the next live timer due at `end` or before. */
  #pop(end: number): Entry | undefined {
    const heap = this.#heap;
    for (;;) {
      const top = heap[0];
      if (top === undefined || (top.fn !== undefined && top.due > end)) return undefined;
      const last = heap.pop() as Entry;
      if (heap.length > 0) this.#sink(last);
      if (top.fn !== undefined) return top;
    }
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && before(right, left)) child++;
      const least = heap[child] as Entry;
      if (!before(least, entry)) break;
      heap[i] = least;
      i = child;
    }
    heap[i] = entry;
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

/** True while the event loop holds work of its own that is not waiting for time: code that yields, or real file I/O. */
function hasImmediateWork(): boolean {
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind === 'Immediate' || kind === 'FSReqPromise' || kind === 'FSReqCallback') return true;
  }
  return false;
}
