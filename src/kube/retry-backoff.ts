import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';

/** client-go's reflector: from 800 ms, doubled, forgotten after 2 min without a failure. */
const BaseMs = 800;
const ResetMs = 120_000;
/** Before the jitter, which doubles it at most: no wait is over 30 s. */
const CapMs = 15_000;
/** A server that names a time is believed up to this. */
const MaxRetryAfterMs = 300_000;

/**
 * The waits between attempts that fail: 0.8 to 1.6 s, 1.6 to 3.2 s, ... 15 to 30 s. The jitter is as wide as the wait
 * itself, so that the nodes of a cluster do not come back together. A success does not reset it: a server that takes
 * a request and cuts the next one is as bad as one that takes none.
 */
export class RetryBackoff {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Pick<Random, 'float'>;
  #failures = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic'>, random: Pick<Random, 'float'>) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The shortest wait, jitter included, that counts for nothing later. */
  short(): number {
    return BaseMs * (1 + this.#random.float());
  }

  /** Milliseconds to wait now; at least what the server asked for. */
  next(retryAfterMs = 0): number {
    const now = this.#clock.monotonic();
    if (now - this.#lastAt > ResetMs) this.#failures = 0;
    this.#lastAt = now;
    const base = Math.min(CapMs, BaseMs * 2 ** Math.min(this.#failures, 20));
    this.#failures++;
    const wait = base * (1 + this.#random.float());
    return Math.max(wait, Math.min(retryAfterMs, MaxRetryAfterMs));
  }
}
