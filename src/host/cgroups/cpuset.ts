import type { CgroupSettings, CgroupVersion, CgroupWrite } from './settings.ts';

export const CpusetController = 'cpuset';
/** v1: both must be set before a process can join, and a new group starts with none. */
export const CpusetFiles = ['cpuset.cpus', 'cpuset.mems'] as const;

/** The CPUs that the group may run on. */
export function cpusetWrites(_version: CgroupVersion, { cpusetCpus }: CgroupSettings): CgroupWrite[] {
  if (cpusetCpus === undefined || cpusetCpus === '') return [];
  return [{ controller: CpusetController, file: CpusetFiles[0], value: cpusetCpus }];
}
