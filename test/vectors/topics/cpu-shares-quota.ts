import {
  milliCpuToQuota,
  milliCpuToShares,
  quotaToMilliCpu,
  sharesEqualAfterV2RoundTrip,
  sharesToMilliCpu,
} from '../../../src/resources/cpu.ts';
import { type Checker, classOf, excepted, expectSame, fail } from '../checker.ts';

const OVERFLOW = 'the real multiplication wraps at 64 bits; ours keeps the true value within the bounds';

const classes = new Map<string, (input: (key: string) => number) => unknown>([
  ['to-shares', (n) => ({ shares: milliCpuToShares(n('milliCPU')) })],
  ['to-quota', (n) => ({ quota: milliCpuToQuota(n('milliCPU'), n('period')) })],
  ['from-shares', (n) => ({ milliCPU: sharesToMilliCpu(n('shares')) })],
  ['from-quota', (n) => ({ milliCPU: quotaToMilliCpu(n('quota'), n('period')) })],
  ['round-trip', (n) => ({ equal: sharesEqualAfterV2RoundTrip(n('allocatedShares'), n('readbackShares')) })],
]);

/** The product that the real function makes first. */
function product(c: Parameters<Checker>[0]): bigint {
  const n = (key: string): bigint => BigInt(String(c.in[key] ?? 0));
  switch (classOf(c)) {
    case 'to-shares':
      return n('milliCPU') * 1024n;
    case 'to-quota':
      return n('milliCPU') * n('period');
    case 'from-shares':
      return n('shares') * 1000n;
    case 'from-quota':
      return n('quota') * 1000n;
    default:
      return 0n;
  }
}

export const check: Checker = async (c) => {
  const run = classes.get(classOf(c));
  if (run === undefined) return fail(`unknown class ${classOf(c)}`);
  const verdict = await expectSame(c, () => run((key) => Number(c.in[key] ?? 0)));
  return verdict.verdict === 'fail' && BigInt.asIntN(64, product(c)) !== product(c) ? excepted(OVERFLOW) : verdict;
};
