import { Background } from './background.ts';
import type { Clock } from './clock.ts';
import { Pause } from './pause.ts';

/** A service that works in rounds, with a pause after each, until it is ended. */
export abstract class Rounds extends Background {
  readonly #pause: Pause;
  readonly #firstMs: number;

  /** The first round is at once, or `firstMs` after the start. */
  constructor(clock: Clock, firstMs = 0) {
    super();
    this.#pause = new Pause(clock);
    this.#firstMs = firstMs;
  }

  /** The next round is now. */
  poke(): void {
    this.#pause.poke();
  }

  /** One round. Gives the milliseconds until the next one. Never rejects. */
  protected abstract round(signal: AbortSignal): Promise<number>;

  protected override async run(signal: AbortSignal): Promise<void> {
    if (this.#firstMs > 0) await this.#pause.wait(this.#firstMs, signal);
    while (!signal.aborted) await this.#pause.wait(await this.round(signal), signal);
  }
}
