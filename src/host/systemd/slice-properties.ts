import { cpuWeight } from '../cgroups/cpu.ts';
import type { CgroupSettings, CgroupVersion } from '../cgroups/settings.ts';
import { asBool, asText, asTexts, asU64, type UnitProperty } from './units.ts';

/** systemd's word for "no limit". */
const INFINITY = 2n ** 64n - 1n;
const USEC_PER_SEC = 1_000_000;
/** systemd rounds a quota to whole hundredths of a CPU; rounding up ourselves never gives less than was asked for. */
const QUOTA_STEP_US = 10_000;
const DEFAULT_PERIOD_US = 100_000;

/** `memory.*` files that systemd has a property for; it would put its own value back at every reload. */
const UNIFIED: Readonly<Record<string, string>> = {
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
};

/** What a slice is made with, beside its limits. `parent` is the slice above it, undefined for one right below the root. */
export function sliceProperties(name: string, parent: string | undefined): UnitProperty[] {
  return [
    ['Description', asText(`kubelet: control group ${name}`)],
    ...(parent === undefined ? [] : ([['Wants', asTexts([parent])]] satisfies UnitProperty[])),
    // Nothing of the boot or of a shutdown orders itself around pods.
    ['DefaultDependencies', asBool(false)],
    ['MemoryAccounting', asBool(true)],
    ['CPUAccounting', asBool(true)],
    ['TasksAccounting', asBool(true)],
    ['IOAccounting', asBool(true)],
  ];
}

/**
 * Limits as properties of a unit, so that they outlive a reload of systemd. Huge pages and CPU sets have none there:
 * they are written to the files alone.
 */
export function limitProperties(version: CgroupVersion, settings: CgroupSettings): UnitProperty[] {
  const properties: UnitProperty[] = [];
  const { cpuShares, cpuQuota, cpuPeriod, memory, pids, unified } = settings;
  if (cpuShares !== undefined) {
    properties.push(version === 1 ? ['CPUShares', asU64(cpuShares)] : ['CPUWeight', asU64(cpuWeight(cpuShares))]);
  }
  if (cpuPeriod !== undefined) properties.push(['CPUQuotaPeriodUSec', asU64(cpuPeriod)]);
  if (cpuQuota !== undefined) properties.push(['CPUQuotaPerSecUSec', asU64(quotaPerSecond(cpuQuota, cpuPeriod ?? DEFAULT_PERIOD_US))]);
  if (memory !== undefined) properties.push([version === 1 ? 'MemoryLimit' : 'MemoryMax', asU64(memory < 0 ? INFINITY : memory)]);
  if (pids !== undefined) properties.push(['TasksMax', asU64(pids < 0 ? INFINITY : pids)]);
  if (version === 1) return properties;
  for (const [file, property] of Object.entries(UNIFIED)) {
    const value = unified?.[file];
    if (value !== undefined) properties.push([property, asU64(value === 'max' ? INFINITY : BigInt(value))]);
  }
  return properties;
}

/** Microseconds of CPU a second. */
function quotaPerSecond(quota: number, period: number): bigint {
  if (quota <= 0) return INFINITY;
  return BigInt(Math.ceil((quota * USEC_PER_SEC) / period / QUOTA_STEP_US) * QUOTA_STEP_US);
}
