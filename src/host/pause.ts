import type { Clock } from './clock.ts';

/** The wait between two rounds of a loop, which a poke ends early. A poke during a round shortens the next wait to nothing. */
export class Pause {
  readonly #clock: Clock;
  #wake: (() => void) | undefined;
  #poked = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms`, on a poke or when `signal` aborts; never rejects. Does not keep the process alive. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#poked && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const end = () => resolve();
      signal.addEventListener('abort', end, { once: true });
      const timer = this.#clock.after(ms, end, true);
      await promise;
      timer.cancel();
      signal.removeEventListener('abort', end);
      this.#wake = undefined;
    }
    this.#poked = false;
  }

  poke(): void {
    this.#poked = true;
    this.#wake?.();
  }
}
