import { findContainer } from '../../../src/api/pod.ts';
import type { Pod } from '../../../src/api/types.ts';
import { oomScoreAdjust } from '../../../src/resources/oom.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const pod = c.in['pod'] as Pod;
    const found = findContainer(pod, String(c.in['container']));
    if (found === undefined) throw new Error(`no container ${c.in['container']}`);
    return { oomScoreAdj: oomScoreAdjust(pod, found.container, BigInt(String(c.in['memoryCapacity']))) };
  });
