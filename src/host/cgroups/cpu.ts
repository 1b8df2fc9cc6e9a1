import type { CgroupSettings, CgroupVersion, CgroupWrite } from './settings.ts';

const Controller = 'cpu';
const V1Shares = 'cpu.shares';
const V1Period = 'cpu.cfs_period_us';
const V1Quota = 'cpu.cfs_quota_us';
const V2Weight = 'cpu.weight';
const V2Max = 'cpu.max';

/** The kernel's own default, in microseconds. */
const DefaultPeriod = 100_000;
const MinShares = 2;
const MaxShares = 262_144;

/** Shares and quota. The v1 period comes before the quota, which the kernel checks against it. */
export function cpuWrites(version: CgroupVersion, settings: CgroupSettings): CgroupWrite[] {
  const writes: CgroupWrite[] = [];
  const add = (file: string, value: string) => writes.push({ controller: Controller, file, value });
  const { cpuShares, cpuQuota, cpuPeriod } = settings;
  if (version === 1) {
    if (cpuShares !== undefined) add(V1Shares, String(cpuShares));
    if (cpuPeriod !== undefined) add(V1Period, String(cpuPeriod));
    if (cpuQuota !== undefined) add(V1Quota, String(cpuQuota > 0 ? cpuQuota : -1));
    return writes;
  }
  if (cpuShares !== undefined) add(V2Weight, String(cpuWeight(cpuShares)));
  if (cpuQuota !== undefined || cpuPeriod !== undefined) {
    add(V2Max, `${cpuQuota !== undefined && cpuQuota > 0 ? cpuQuota : 'max'} ${cpuPeriod ?? DefaultPeriod}`);
  }
  return writes;
}

/** v1 shares on the scale of v2 weights, 1 to 10000. Source: contract pod-lifecycle.md §13. */
export function cpuWeight(shares: number): number {
  const clamped = Math.min(MaxShares, Math.max(MinShares, shares));
  return 1 + Math.floor(((clamped - MinShares) * 9999) / (MaxShares - MinShares));
}

/** The v1 shares that a v2 weight stands for. Weights are the coarser ones: not every number of shares comes back. */
export function sharesOfWeight(weight: number): number {
  return MinShares + Math.trunc(((weight - 1) * (MaxShares - MinShares)) / 9999);
}
