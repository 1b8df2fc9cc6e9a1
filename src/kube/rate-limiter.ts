import type { Clock } from '../host/clock.ts';

/** Lets requests through at a pace. */
export interface RateLimiter {
  /** Resolves when the request may go; rejects with the signal's reason when it aborts first. */
  take(signal?: AbortSignal): Promise<void>;
}

/** For the heartbeat client (contract: flags-config.md §8). */
export const unlimited: RateLimiter = { take: () => Promise.resolve() };

/**
 * A token bucket that makes callers wait in the order they came: `burst` requests at once, then `qps` a second.
 * `qps` 0 or below lets everything through.
 */
export class TokenBucketLimiter implements RateLimiter {
  readonly #qps: number;
  readonly #burst: number;
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Below zero by as many as are waiting. */
  #tokens: number;
  #updatedAt: number;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>, qps: number, burst: number) {
    this.#clock = clock;
    this.#qps = qps;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#updatedAt = clock.monotonic();
  }

  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#qps <= 0) return;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#updatedAt) * this.#qps) / 1000);
    this.#updatedAt = now;
    this.#tokens -= 1;
    // A thousandth of a token is rounding, not a debt.
    if (this.#tokens > -0.001) return;
    try {
      await this.#clock.sleep((-this.#tokens / this.#qps) * 1000, signal);
    } catch (err) {
      this.#tokens += 1;
      throw err;
    }
  }
}
