import type { Clock } from '../host/clock.ts';

/** A slot held longer than this is lent out: one pod that is stuck does not keep the others from starting. */
const LEND_AFTER_MS = 30_000;
/** What takes longer than this is a wait for something outside, during which the slot is free. */
const SLOW_MS = 50;

export interface Slot {
  /** Gives the slot back while `work` waits for something outside (a pull, a hook), then takes one again. */
  whileSlow<T>(work: Promise<T>): Promise<T>;
  /** Idempotent. */
  release(): void;
}

interface Waiter {
  rank: number;
  order: number;
  grant(): void;
}

/**
 * Bounds how many pods start at a time, so that a pod that has begun is finished before another begins: starting is
 * bound by the runtime, and order is what the agent owns. Ranks: a pod that has begun goes before critical ones, those
 * before the rest; equal ranks in the order of asking.
 */
export class StartSlots {
  readonly #clock: Clock;
  readonly #limit: number;
  #used = 0;
  #order = 0;
  readonly #waiting: Waiter[] = [];

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = Math.max(1, limit);
  }

  /** How many slots are taken and how many pods wait. */
  get load(): { used: number; waiting: number } {
    return { used: this.#used, waiting: this.#waiting.length };
  }

  /** Waits for a slot. Rejects with the signal's reason when it aborts first. */
  async acquire(critical: boolean, signal: AbortSignal): Promise<Slot> {
    await this.#take(critical ? 1 : 2, signal);
    return this.#held(signal);
  }

  #held(signal: AbortSignal): Slot {
    let holding = true;
    let lend = this.#lendLater(() => letGo());
    const letGo = () => {
      if (!holding) return;
      holding = false;
      lend.cancel();
      this.#give();
    };
    let released = false;
    let taking: Promise<void> | undefined;
    /** Containers of one pod wait side by side: whoever comes back first takes the one slot for all. */
    const take = () => {
      taking ??= this.#take(0, signal)
        .then(() => {
          holding = true;
          lend = this.#lendLater(() => letGo());
          if (released) letGo();
        })
        .finally(() => {
          taking = undefined;
        });
      return taking;
    };
    return {
      whileSlow: async (work) => {
        const slow = this.#clock.after(SLOW_MS, letGo, true);
        try {
          return await work;
        } finally {
          slow.cancel();
          if (!holding && !released && !signal.aborted) await take();
        }
      },
      release: () => {
        released = true;
        letGo();
      },
    };
  }

  #lendLater(fn: () => void) {
    return this.#clock.after(LEND_AFTER_MS, fn, true);
  }

  #take(rank: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#used < this.#limit) {
      this.#used++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { rank, order: this.#order++, grant: () => done(resolve) };
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        done(() => reject(signal.reason as Error));
      };
      const done = (then: () => void) => {
        signal.removeEventListener('abort', onAbort);
        then();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #give(): void {
    this.#used--;
    const next = this.#waiting.reduce<Waiter | undefined>((best, w) => (best === undefined || before(w, best) ? w : best), undefined);
    if (next === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#used++;
    next.grant();
  }
}

const before = (a: Waiter, b: Waiter) => a.rank < b.rank || (a.rank === b.rank && a.order < b.order);
