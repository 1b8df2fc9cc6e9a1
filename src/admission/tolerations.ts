import type { Toleration } from '../api/types.ts';

export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

/**
 * True when the toleration covers the taint. An empty key or effect covers all of them; `comparison` allows the
 * operators Gt and Lt on whole numbers. Source: vectors tolerations-affinity.
 */
export function tolerates(toleration: Toleration, taint: Taint, comparison = false): boolean {
  const { key, effect, operator, value } = toleration;
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || 'Equal') {
    case 'Exists':
      return true;
    case 'Equal':
      return (value ?? '') === (taint.value ?? '');
    case 'Gt':
    case 'Lt': {
      const bound = wholeNumber(value);
      const actual = wholeNumber(taint.value);
      if (!comparison || bound === undefined || actual === undefined) return false;
      return operator === 'Gt' ? actual > bound : actual < bound;
    }
    default:
      return false;
  }
}

/** The first taint of that effect which no toleration covers. */
export function untoleratedTaint(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  effect: string,
  comparison = false,
): Taint | undefined {
  return taints.find((taint) => taint.effect === effect && !tolerations.some((toleration) => tolerates(toleration, taint, comparison)));
}

/** A decimal number of 64 bits. */
export function wholeNumber(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d{1,19}$/.test(text)) return undefined;
  const number = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return BigInt.asIntN(64, number) === number ? number : undefined;
}
