import { computePodQOS, getPodQOS } from '../../../src/api/qos.ts';
import type { Pod } from '../../../src/api/types.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const pod = c.in['pod'] as Pod;
    return { qos: computePodQOS(pod), getPodQOS: getPodQOS(pod) };
  });
