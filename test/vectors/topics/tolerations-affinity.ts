import { matchesNode } from '../../../src/admission/node-affinity.ts';
import { type Taint, tolerates, untoleratedTaint } from '../../../src/admission/tolerations.ts';
import type { Pod, Toleration } from '../../../src/api/types.ts';
import { type Checker, classOf, expectSame, fail } from '../checker.ts';

/** Fields of the recorded error, as `nodeSelectorTerms[0].matchExpressions[0].values`. */
const fieldsOf = (text: string) => text.match(/nodeSelectorTerms\[[^:]*/g) ?? [];

export const check: Checker = (c) => {
  if (classOf(c) === 'affinity') {
    const { metadata } = c.in['node'] as { metadata: { name: string; labels: Record<string, string> } };
    const { match, error } = matchesNode(c.in['pod'] as Pod, metadata);
    const missing = fieldsOf(c.error ?? '').filter((field) => error?.includes(field) !== true);
    if ((c.error === undefined) !== (error === undefined) || missing.length > 0) return fail(`want the error ${c.error}, got ${error}`);
    return expectSame(c, () => ({ match }));
  }
  return expectSame(c, () => {
    if (classOf(c) === 'find') {
      const taint = untoleratedTaint((c.in['taints'] ?? []) as Taint[], (c.in['tolerations'] ?? []) as Toleration[], 'NoExecute');
      return { untolerated: taint !== undefined, taint };
    }
    const [toleration, taint] = [c.in['toleration'] as Toleration, c.in['taint'] as Taint];
    return { tolerates: tolerates(toleration, taint), toleratesWithComparison: tolerates(toleration, taint, true) };
  });
};
