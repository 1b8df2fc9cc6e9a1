import { within } from '../host/within.ts';
import type { KubeObject } from './api.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

/** Objects that are watched from the first question on: most nodes never ask. */
export class WatchOnDemand<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #stop = new AbortController();
  #reflector: Reflector<T> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  /** As far as they are known already. */
  get known(): ReadonlyMap<string, T> | undefined {
    return this.#reflector?.objects;
  }

  /** Waits for the first list, at most `waitMs`; rejects with `unknown` and why, when it has not come by then. */
  async objects(waitMs: number, unknown: string): Promise<ReadonlyMap<string, T>> {
    const reflector = this.#watch();
    if (!reflector.synced && !(await within(this.#options.clock, reflector.whenSynced(), waitMs))) {
      const health = reflector.health();
      throw new Error(`${unknown}${health.ok ? '' : `: ${health.reason}`}`);
    }
    return reflector.objects;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #watch(): Reflector<T> {
    if (this.#reflector === undefined) {
      this.#reflector = new Reflector<T>(this.#options);
      this.#running = this.#reflector.run(this.#stop.signal);
    }
    return this.#reflector;
  }
}
