import { formatDuration } from '../../../src/api/duration.ts';
import { parseThresholds, type Threshold, type ThresholdValue, withContainerFs } from '../../../src/eviction/thresholds.ts';
import { type Checker, classOf, excepted, expectSame, fail } from '../checker.ts';

const strings = (value: unknown) => (value ?? {}) as Record<string, string>;
const plainValue = (value: ThresholdValue) => ('quantity' in value ? { quantity: value.quantity.toString() } : value);

function shown({ signal, operator, value, gracePeriod, minReclaim }: Threshold) {
  return {
    signal,
    operator,
    value: plainValue(value),
    gracePeriod: formatDuration(gracePeriod),
    gracePeriodNs: Number(gracePeriod),
    minReclaim: minReclaim === undefined ? undefined : plainValue(minReclaim),
  };
}

/** By signal, then grace period; equal ones stay in order. */
function sorted(thresholds: readonly Threshold[]) {
  const order = (a: Threshold, b: Threshold) =>
    a.signal === b.signal ? Number(a.gracePeriod - b.gracePeriod) : a.signal < b.signal ? -1 : 1;
  return { thresholds: thresholds.toSorted(order).map(shown) };
}

export const check: Checker = (c) => {
  const config = {
    // The class containerfs names no list: the vectors were made with the default.
    allocatable: classOf(c) === 'containerfs' ? ['pods'] : ((c.in['allocatable'] ?? []) as string[]),
    hard: strings(c.in['hard']),
    soft: strings(c.in['soft']),
    softGrace: strings(c.in['softGrace']),
    minReclaim: strings(c.in['minReclaim']),
  };
  if (c.out !== undefined && /"(NaN|\+Inf)"/.test(JSON.stringify(c.out))) {
    try {
      parseThresholds(config);
      return fail('want a refusal of a percentage that is no number');
    } catch {
      return excepted('the real kubelet takes NaN% and, as minimum reclaim, inf%; a threshold that is no number is refused here');
    }
  }
  if (classOf(c) !== 'containerfs') return expectSame(c, () => sorted(parseThresholds(config)));
  const result = withContainerFs(parseThresholds(config), { imageFs: c.in['imageFs'] === true, separate: c.in['separate'] === true });
  if ((c.error === undefined) !== (result.ignored.length === 0)) return fail(`want the warning ${c.error}, got ${result.ignored.join()}`);
  return expectSame(c, () => sorted(result.thresholds));
};
