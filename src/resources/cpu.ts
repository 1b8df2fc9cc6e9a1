import { cpuWeight, sharesOfWeight } from '../host/cgroups/cpu.ts';

/** CPU amounts in the kernel's terms. Numbers are integers. Source: vectors cpu-shares-quota; kernel sched.h. */

export const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
const MILLI_PER_CPU = 1000;
/** In microseconds. */
export const DEFAULT_QUOTA_PERIOD = 100_000;
const MIN_QUOTA = 1000;

/** The share of a CPU that a request of thousandths weighs; the kernel's bounds are kept. */
export function milliCpuToShares(milliCpu: number): number {
  const shares = Math.trunc((milliCpu * SHARES_PER_CPU) / MILLI_PER_CPU);
  return Math.min(MAX_SHARES, Math.max(MIN_SHARES, shares));
}

/** The quota of a limit of thousandths, in microseconds a period (microseconds). 0 for no limit, else at least 1 ms. */
export function milliCpuToQuota(milliCpu: number, period: number): number {
  if (milliCpu === 0) return 0;
  return Math.max(MIN_QUOTA, Number((BigInt(milliCpu) * BigInt(period)) / BigInt(MILLI_PER_CPU)));
}

/** Thousandths of shares, rounded up; 0 below the kernel's minimum. */
export function sharesToMilliCpu(shares: number): number {
  return shares < MIN_SHARES ? 0 : Math.ceil((shares * MILLI_PER_CPU) / SHARES_PER_CPU);
}

/** Thousandths of a quota; 0 when it is -1 (unlimited). Throws where there is no period. */
export function quotaToMilliCpu(quota: number, period: number): number {
  if (quota === -1) return 0;
  if (period === 0) throw new Error('a CPU quota needs a period above 0');
  return Math.trunc((quota * MILLI_PER_CPU) / period);
}

/**
 * Whether shares, written as cgroup v2 weight and read back, give `readback`. Weights are coarser than shares, so a
 * difference need not mean that somebody changed them.
 */
export function sharesEqualAfterV2RoundTrip(allocated: number, readback: number): boolean {
  if (allocated < MIN_SHARES) return false;
  return sharesOfWeight(cpuWeight(allocated)) === readback;
}
