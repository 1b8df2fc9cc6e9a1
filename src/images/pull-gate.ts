/**
 * Lets `limit` pulls run side by side, first come first served; 1 is the serial mode, Infinity an unlimited parallel
 * one (contract: pod-lifecycle.md §6).
 */
export class PullGate {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `pull` when its turn comes. Rejects with the signal's reason when it aborts before that. */
  async run<T>(signal: AbortSignal, pull: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#turn(signal);
    try {
      return await pull();
    } finally {
      // The place goes to the next in line without becoming free in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        const place = this.#waiting.indexOf(go);
        if (place >= 0) this.#waiting.splice(place, 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(go);
    });
  }
}
