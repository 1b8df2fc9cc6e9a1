/** Allows `burst` at once and `qps` a second over time. `qps` 0 allows everything. Times are monotonic milliseconds. */
export class TokenBucket {
  readonly #qps: number;
  readonly #burst: number;
  #tokens: number;
  #updatedAt: number | undefined;

  constructor(qps: number, burst: number) {
    this.#qps = qps;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Takes a token if there is one; never waits. */
  tryTake(now: number): boolean {
    if (this.#qps === 0) return true;
    const elapsed = Math.max(0, now - (this.#updatedAt ?? now));
    this.#tokens = Math.min(this.#burst, this.#tokens + (elapsed * this.#qps) / 1000);
    this.#updatedAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
