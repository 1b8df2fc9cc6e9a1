import type { Health, Service } from '../observe/service.ts';
import type { Clock } from './clock.ts';
import { Pause } from './pause.ts';

/**
 * A service that works in rounds, with a pause after each, until it is ended. Nobody waits for it and it is always well,
 * unless it says otherwise.
 */
export abstract class Rounds implements Service {
  abstract readonly name: string;
  readonly #pause: Pause;
  readonly #firstMs: number;
  #loop: Promise<void> = Promise.resolve();

  /** The first round is at once, or `firstMs` after the start. */
  constructor(clock: Clock, firstMs = 0) {
    this.#pause = new Pause(clock);
    this.#firstMs = firstMs;
  }

  start(signal: AbortSignal): void {
    this.#loop = this.#run(signal);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Health {
    return { ok: true };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** The next round is now. */
  poke(): void {
    this.#pause.poke();
  }

  /** One round. Gives the milliseconds until the next one. Never rejects. */
  protected abstract round(signal: AbortSignal): Promise<number>;

  async #run(signal: AbortSignal): Promise<void> {
    if (this.#firstMs > 0) await this.#pause.wait(this.#firstMs, signal);
    while (!signal.aborted) await this.#pause.wait(await this.round(signal), signal);
  }
}
