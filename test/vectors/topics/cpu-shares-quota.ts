import {
  milliCpuToQuota,
  milliCpuToShares,
  quotaToMilliCpu,
  sharesEqualAfterV2RoundTrip,
  sharesToMilliCpu,
} from '../../../src/resources/cpu.ts';
import { type Checker, classOf, excepted, expectSame, fail, type VectorCase } from '../checker.ts';

const OVERFLOW = 'the real multiplication wraps at 64 bits; ours keeps the true value within the bounds';

const classes = new Map<string, (input: (key: string) => number) => unknown>([
  ['to-shares', (n) => ({ shares: milliCpuToShares(n('milliCPU')) })],
  ['to-quota', (n) => ({ quota: milliCpuToQuota(n('milliCPU'), n('period')) })],
  ['from-shares', (n) => ({ milliCPU: sharesToMilliCpu(n('shares')) })],
  ['from-quota', (n) => ({ milliCPU: quotaToMilliCpu(n('quota'), n('period')) })],
  ['round-trip', (n) => ({ equal: sharesEqualAfterV2RoundTrip(n('allocatedShares'), n('readbackShares')) })],
]);

/** What the real function gives, its product wrapped at 64 bits; undefined where the product fits. */
function wrapped(c: VectorCase): bigint | undefined {
  const n = (key: string): bigint => BigInt(String(c.in[key] ?? 0));
  const wrap = (product: bigint): bigint | undefined => (BigInt.asIntN(64, product) === product ? undefined : BigInt.asIntN(64, product));
  const clamp = (value: bigint, low: bigint, high: bigint): bigint => (value < low ? low : value > high ? high : value);
  switch (classOf(c)) {
    case 'to-shares': {
      const product = wrap(n('milliCPU') * 1024n);
      return product === undefined ? undefined : clamp(product / 1000n, 2n, 262_144n);
    }
    case 'to-quota': {
      const product = wrap(n('milliCPU') * n('period'));
      return product === undefined ? undefined : clamp(product / 1000n, 1000n, product < 1000n ? 1000n : product);
    }
    case 'from-shares': {
      const product = wrap(n('shares') * 1000n);
      return product === undefined ? undefined : BigInt(Math.ceil(Number(product) / 1024));
    }
    case 'from-quota': {
      const product = wrap(n('quota') * 1000n);
      return product === undefined || n('period') === 0n ? undefined : product / n('period');
    }
    default:
      return undefined;
  }
}

export const check: Checker = async (c) => {
  const run = classes.get(classOf(c));
  if (run === undefined) return fail(`unknown class ${classOf(c)}`);
  const verdict = await expectSame(c, () => run((key) => Number(c.in[key] ?? 0)));
  if (verdict.verdict !== 'fail') return verdict;
  const [recorded] = Object.values((c.out ?? {}) as Record<string, unknown>);
  return wrapped(c)?.toString() === String(recorded) ? excepted(OVERFLOW) : verdict;
};
