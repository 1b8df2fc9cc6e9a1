import type { CriErrorCode } from '../../src/cri/errors.ts';
import type { Call, Operation } from './journal.ts';
import type { SimRandom } from './random.ts';

/**
 * What goes wrong with a call. `when: 'after'` means that the runtime does the work and its answer is lost. A hung
 * call ends only by its deadline, its signal or the runtime's end.
 */
export type Effect =
  | { kind: 'error'; code: CriErrorCode; message: string; when?: 'before' | 'after' }
  | { kind: 'hang'; when?: 'before' | 'after' }
  | { kind: 'slow'; ms: number };

export interface Fault {
  /** Every operation when missing. */
  op?: Operation | readonly Operation[];
  /** Narrows the calls meant. */
  match?: (call: Call) => boolean;
  /** Chance for each call that matches; 1 when missing. */
  probability?: number;
  /** Matching calls let through first. */
  skip?: number;
  /** How often it strikes at most. */
  times?: number;
  effect: Effect;
}

/** The faults that a simulated service injects, by script or by chance. */
export class Faults {
  #random: SimRandom;
  #active = new Map<Fault, { seen: number; struck: number }>();

  constructor(random: SimRandom) {
    this.#random = random;
  }

  /** Starts injecting; the function returned stops it. */
  add(fault: Fault): () => void {
    this.#active.set(fault, { seen: 0, struck: 0 });
    return () => {
      this.#active.delete(fault);
    };
  }

  clear(): void {
    this.#active.clear();
  }

  /** How often `fault` struck. */
  struck(fault: Fault): number {
    return this.#active.get(fault)?.struck ?? 0;
  }

  /** The effect on this call: that of the first fault that strikes. */
  strike(call: Call): Effect | undefined {
    for (const [fault, count] of this.#active) {
      if (fault.op !== undefined && (typeof fault.op === 'string' ? fault.op !== call.op : !fault.op.includes(call.op))) continue;
      if (fault.match && !fault.match(call)) continue;
      if (count.seen++ < (fault.skip ?? 0) || count.struck >= (fault.times ?? Number.POSITIVE_INFINITY)) continue;
      if (fault.probability !== undefined && !this.#random.chance(fault.probability)) continue;
      count.struck++;
      return fault.effect;
    }
    return undefined;
  }
}
