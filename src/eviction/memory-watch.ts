import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import { isMemorySignal, type Observations, thresholdsMet } from './observations.ts';
import type { Threshold } from './thresholds.ts';

export interface MemoryWatchDeps {
  clock: Clock;
  thresholds: readonly Threshold[];
  /** What is left of the memory; cheap. Rejects when it cannot be read. */
  observe(): Promise<Observations>;
  /** A threshold has just been crossed. */
  crossed(): void;
}

const PeriodMs = 1_000;

/**
 * Looks at the memory every second, so that the eviction manager need not wait for its next look when it runs short. The
 * real kubelet has the kernel tell it (kernelMemcgNotification) by an eventfd, which Node cannot make.
 */
export class MemoryWatch extends Rounds {
  override readonly name = 'memory-watch';
  readonly #deps: MemoryWatchDeps;
  readonly #thresholds: readonly Threshold[];
  #met: ReadonlySet<Threshold> = new Set();

  constructor(deps: MemoryWatchDeps) {
    super(deps.clock);
    this.#deps = deps;
    this.#thresholds = deps.thresholds.filter(({ signal }) => isMemorySignal(signal));
  }

  override start(signal: AbortSignal): void {
    if (this.#thresholds.length > 0) super.start(signal);
  }

  protected override async round(): Promise<number> {
    const { observe, crossed } = this.#deps;
    // What cannot be read is told by the eviction manager.
    const observations = await observe().catch((): Observations => new Map());
    const met = new Set(thresholdsMet(this.#thresholds, observations, false));
    if ([...met].some((threshold) => !this.#met.has(threshold))) crossed();
    this.#met = met;
    return PeriodMs;
  }
}
