import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import { sharesOfWeight } from '../host/cgroups/cpu.ts';

/** What a pod's control group is set to, as the kernel has it. -1 is no limit. */
export interface PodCgroupValues {
  /** v1 scale; of a v2 weight what it stands for. */
  cpuShares: number;
  /** Microseconds. */
  cpuQuota: number;
  /** Microseconds. */
  cpuPeriod: number;
  /** Bytes. */
  memory: number;
}

/** A v1 memory limit from here on is none: the kernel shows the largest multiple of its page size. */
const V1_UNLIMITED = 2 ** 62;

/** Reads the values of a group. Undefined when the group, or a part of it, is not there. */
export async function readPodCgroup(fs: Pick<CgroupFs, 'version' | 'read'>, path: string): Promise<PodCgroupValues | undefined> {
  const texts = async (...files: string[]) => (await Promise.all(files.map((file) => fs.read(path, file)))).map((text) => text?.trim());
  if (fs.version === 1) {
    const numbers = (await texts('cpu.shares', 'cpu.cfs_quota_us', 'cpu.cfs_period_us', 'memory.limit_in_bytes')).map(Number);
    const [cpuShares = Number.NaN, cpuQuota = Number.NaN, cpuPeriod = Number.NaN, memory = Number.NaN] = numbers;
    return checked({ cpuShares, cpuQuota, cpuPeriod, memory: memory >= V1_UNLIMITED ? -1 : memory });
  }
  const [weight, max, memory] = await texts('cpu.weight', 'cpu.max', 'memory.max');
  const [quota, period] = (max ?? '').split(' ');
  return checked({ cpuShares: sharesOfWeight(Number(weight)), cpuQuota: limit(quota), cpuPeriod: Number(period), memory: limit(memory) });
}

/** Bytes that the processes of a group use; undefined when nobody knows. */
export async function readMemoryUsage(fs: Pick<CgroupFs, 'version' | 'read'>, path: string): Promise<number | undefined> {
  const bytes = Number((await fs.read(path, fs.version === 1 ? 'memory.usage_in_bytes' : 'memory.current')) ?? Number.NaN);
  return Number.isFinite(bytes) ? bytes : undefined;
}

const limit = (text: string | undefined) => (text === 'max' ? -1 : Number(text));

function checked(values: PodCgroupValues): PodCgroupValues | undefined {
  return Object.values(values).every(Number.isFinite) ? values : undefined;
}
