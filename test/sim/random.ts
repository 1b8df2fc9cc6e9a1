import type { Random } from '../../src/host/random.ts';

/**
 * Random numbers that repeat from a seed (mulberry32). `fork` gives an independent stream by name, so that one more
 * draw in one part of a simulated world does not shift every other part.
 */
export class SimRandom implements Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed >>> 0;
    this.#state = this.seed;
  }

  float(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  hex(n: number): string {
    let out = '';
    for (let i = 0; i < n; i++) {
      out += Math.floor(this.float() * 256)
        .toString(16)
        .padStart(2, '0');
    }
    return out;
  }

  /** A whole number in [low, high], both ends included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.float() * (high - low + 1));
  }

  /** Uniform in [low, high). */
  between(low: number, high: number): number {
    return low + this.float() * (high - low);
  }

  /** True with probability `p`. */
  chance(p: number): boolean {
    return this.float() < p;
  }

  pick<T>(items: readonly [T, ...T[]]): T;
  pick<T>(items: readonly T[]): T;
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('pick from an empty list');
    return items[this.int(0, items.length - 1)] as T;
  }

  fork(name: string): SimRandom {
    let h = this.seed ^ 0x9e3779b9;
    for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
    return new SimRandom(h);
  }
}
