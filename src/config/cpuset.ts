import { CpuSet, CpuSetError } from '../api/cpuset.ts';

/** What is wrong with a list of CPUs such as `0-3,8`; undefined when it can be read. The empty text is the empty set. */
export function cpusetFault(text: string): string | undefined {
  try {
    CpuSet.parse(text);
    return undefined;
  } catch (err) {
    if (err instanceof CpuSetError) return err.reason;
    throw err;
  }
}
