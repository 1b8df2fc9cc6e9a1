import { matchesNodeAffinity } from '../../../src/api/node-affinity.ts';
import { type Taint, toleratesTaint, untoleratedTaint } from '../../../src/api/tolerations.ts';
import type { Pod, Toleration } from '../../../src/api/types.ts';
import { type Checker, classOf, expectSame, fail } from '../checker.ts';

/** The fields that an error names. */
const paths = (error: string): string[] => [...error.matchAll(/nodeSelectorTerms\[[0-9]+\][^:]*(?=: )/g)].map(([path]) => path);

export const check: Checker = async (c) => {
  switch (classOf(c)) {
    case 'tolerate': {
      const [toleration, taint] = [c.in['toleration'] as Toleration, c.in['taint'] as Taint];
      return expectSame(c, () => ({
        tolerates: toleratesTaint(toleration, taint),
        toleratesWithComparison: toleratesTaint(toleration, taint, true),
      }));
    }
    case 'find':
      return expectSame(c, () => {
        const taint = untoleratedTaint((c.in['taints'] ?? []) as Taint[], (c.in['tolerations'] ?? []) as Toleration[]);
        return { untolerated: taint !== undefined, taint };
      });
    default: {
      const { match, faults } = matchesNodeAffinity(c.in['pod'] as Pod, c.in['node'] as Parameters<typeof matchesNodeAffinity>[1]);
      const [want, got] = [paths(c.error ?? '').toSorted(), faults.map((f) => f.path).toSorted()];
      if (want.join() !== got.join()) return fail(`want faults at ${want.join(', ') || 'nothing'}, got ${got.join(', ') || 'none'}`);
      return expectSame({ ...c, out: c.out ?? { match: false } }, () => ({ match }));
    }
  }
};
