import type { PodSet } from '../../src/sources/types.ts';
import type { SimClock } from '../sim/clock.ts';

/** One turn of the event loop. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Reads the sets of a source in virtual time, in steps of `stepMs`. */
export function setReader(sets: AsyncGenerator<PodSet, void>, abort: AbortController, clock: SimClock, stepMs: number) {
  let pending: Promise<IteratorResult<PodSet, void>> | undefined;
  return {
    /** The next set; undefined when none comes within `ms` of virtual time. */
    async next(ms: number): Promise<PodSet | undefined> {
      pending ??= sets.next();
      let result: IteratorResult<PodSet, void> | undefined;
      void pending.then((value) => {
        result = value;
      });
      // Reading takes turns of the event loop, not virtual time.
      for (let waited = 0; waited <= ms && !result; waited += stepMs) {
        for (let i = 0; i < 5 && !result; i++) await turn();
        if (!result) await clock.advance(stepMs);
      }
      if (!result) return undefined;
      pending = undefined;
      return result.value ?? undefined;
    },
    async stop(): Promise<void> {
      abort.abort();
      await clock.advance(1);
      await pending;
    },
  };
}
