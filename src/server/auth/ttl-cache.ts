import type { Clock } from '../../host/clock.ts';

/** Values that are forgotten after a time of their own. Holds at most `limit`: the oldest goes first. */
export class TtlCache<V> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limit: number;
  readonly #entries = new Map<string, { value: V; until: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#clock.monotonic()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** `ttlMs` of 0 or less: not kept. */
  set(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key);
    if (ttlMs <= 0) return;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#limit) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, until: this.#clock.monotonic() + ttlMs });
  }
}
