import { cpuWrites } from './cpu.ts';
import { cpusetWrites } from './cpuset.ts';
import { hugetlbWrites } from './hugetlb.ts';
import { memoryWrites } from './memory.ts';
import { pidsWrites } from './pids.ts';

/** The version of the control group interface in use. */
export type CgroupVersion = 1 | 2;

/** Limits of one control group. What is left out is not touched. */
export interface CgroupSettings {
  /** v1 scale, 2 to 262144; turned into a weight on v2. */
  cpuShares?: number;
  /** Microseconds a period; -1 for none. */
  cpuQuota?: number;
  /** Microseconds. */
  cpuPeriod?: number;
  /** Bytes; -1 for none. */
  memory?: number;
  /** Number of tasks; -1 for none. */
  pids?: number;
  /** Page size in bytes to limit in bytes. */
  hugetlb?: ReadonlyMap<number, number>;
  /** A kernel list such as `0-3,8`. */
  cpusetCpus?: string;
  /** v2 only: file name to content, e.g. `memory.low`. Ignored on v1. */
  unified?: Readonly<Record<string, string>>;
}

/** One write to a control group file. */
export interface CgroupWrite {
  controller: string;
  file: string;
  value: string;
}

/** The writes that apply `settings`, in the order the kernel wants them within each controller. */
export function cgroupWrites(version: CgroupVersion, settings: CgroupSettings): CgroupWrite[] {
  const writes = [
    ...cpuWrites(version, settings),
    ...memoryWrites(version, settings),
    ...pidsWrites(version, settings),
    ...hugetlbWrites(version, settings),
    ...cpusetWrites(version, settings),
  ];
  if (version === 2) {
    for (const [file, value] of Object.entries(settings.unified ?? {})) {
      const dot = file.indexOf('.');
      // Only a plain file name of a controller: never a way out of the group's directory.
      if (dot <= 0 || /[/\0]/.test(file)) throw new Error(`${JSON.stringify(file)} is not a control group file`);
      writes.push({ controller: file.slice(0, dot), file, value });
    }
  }
  return writes;
}
