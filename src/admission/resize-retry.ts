import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import type { Health, Service } from '../observe/service.ts';

export interface ResizeRetryDeps {
  clock: Clock;
  /** Reads what was allocated and in force before the agent started. */
  load(): Promise<void>;
  /** Writes what is not on disk yet. */
  save(): Promise<void>;
  retry(): void;
  /** All sources have said what they have. */
  ready(): boolean;
}

/** Contract pod-lifecycle §20: 30 s until the sources are ready, then three minutes. */
const FIRST_MS = 30_000;
const PERIOD_MS = 180_000;

/** Tries resizes that wait now and then, also when nothing seems to have made room. */
export class ResizeRetry implements Service {
  readonly name = 'resize';
  readonly #deps: ResizeRetryDeps;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: ResizeRetryDeps) {
    this.#deps = deps;
  }

  /** Rejects when a checkpoint is damaged. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#deps.load();
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
    await this.#deps.save();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, retry, ready } = this.#deps;
    const pause = new Pause(clock);
    let wait = FIRST_MS;
    while (!signal.aborted) {
      await pause.wait(wait, signal);
      if (signal.aborted) return;
      wait = ready() ? PERIOD_MS : FIRST_MS;
      retry();
    }
  }
}
