import type { Health, Service } from '../observe/service.ts';

/** A service that works until it is ended. Nobody waits for it and it is always well, unless it says otherwise. */
export abstract class Background implements Service {
  abstract readonly name: string;
  #work: Promise<void> = Promise.resolve();

  start(signal: AbortSignal): void {
    this.#work = this.run(signal);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Health {
    return { ok: true };
  }

  async stop(): Promise<void> {
    await this.#work;
  }

  /** All its work: ends when `signal` aborts. Never rejects. */
  protected abstract run(signal: AbortSignal): Promise<void>;
}
