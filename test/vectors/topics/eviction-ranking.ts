import type { Pod } from '../../../src/api/types.ts';
import { type PodUsage, rankForEviction } from '../../../src/eviction/ranking.ts';
import { parseSignal } from '../../../src/eviction/thresholds.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) => {
  const stats = new Map(Object.entries((c.in['stats'] ?? {}) as Record<string, PodUsage>));
  const disks = { imageFs: c.in['withImageFs'] === true, splitImageFs: c.in['splitImageFs'] === true };
  return expectSame(c, () => ({
    order: rankForEviction(parseSignal(String(c.in['signal'])), c.in['pods'] as Pod[], (pod) => stats.get(pod.metadata.name), disks).map(
      (pod) => pod.metadata.name,
    ),
  }));
};
