import type { Toleration } from './types.ts';

/** Source: vectors tolerations-affinity. */

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string | null;
}

const MAX_INT64 = 2n ** 63n - 1n;

/** A decimal integer as a person writes it: no leading zeros, no plus sign. */
function integer(text: string): bigint | undefined {
  if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) return undefined;
  const value = BigInt(text);
  return value > MAX_INT64 || value < -MAX_INT64 - 1n ? undefined : value;
}

/** Whether a toleration covers a taint. `Lt` and `Gt` count only with `comparison` (gate TaintTolerationComparisonOperators). */
export function toleratesTaint(toleration: Toleration, taint: Taint, comparison = false): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  const operator = toleration.operator ?? '';
  if (operator === 'Exists') return true;
  if (operator === '' || operator === 'Equal') return (toleration.value ?? '') === (taint.value ?? '');
  if (!comparison || (operator !== 'Lt' && operator !== 'Gt')) return false;
  const [bound, value] = [integer(toleration.value ?? ''), integer(taint.value ?? '')];
  if (bound === undefined || value === undefined) return false;
  return operator === 'Lt' ? value < bound : value > bound;
}

/** The first NoExecute taint that nothing tolerates; the only kind that keeps a pod off a node it is bound to. */
export function untoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[], comparison = false): Taint | undefined {
  return taints.find((taint) => taint.effect === 'NoExecute' && !tolerations.some((t) => toleratesTaint(t, taint, comparison)));
}
