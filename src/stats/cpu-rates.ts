/** A look shortly after another gives the rate of that one: over a short time a rate says little. */
const MIN_WINDOW_MS = 5_000;
/** The very first rate need not wait that long. */
const FIRST_WINDOW_MS = 1_000;

interface Look {
  total: number;
  atMs: number;
  rate: number | undefined;
}

/** Rates of counters that only grow, from the looks at them. */
export class CpuRates {
  readonly #looks = new Map<string, Look>();

  /** Takes a look at nanoseconds used; gives nanoseconds in a second since an earlier look, undefined at the first one. */
  look(key: string, total: number, atMs: number): number | undefined {
    const last = this.#looks.get(key);
    if (last === undefined || total < last.total) {
      this.#looks.set(key, { total, atMs, rate: undefined });
      return undefined;
    }
    const window = atMs - last.atMs;
    if (window < (last.rate === undefined ? FIRST_WINDOW_MS : MIN_WINDOW_MS)) return last.rate;
    const rate = Math.round((total - last.total) / (window / 1000));
    this.#looks.set(key, { total, atMs, rate });
    return rate;
  }

  /** Drops all but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#looks.keys()) if (!keys.has(key)) this.#looks.delete(key);
  }
}
