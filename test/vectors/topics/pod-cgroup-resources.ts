import type { Pod } from '../../../src/api/types.ts';
import { podCgroupConfig, podLevelMemoryHigh } from '../../../src/resources/pod-cgroup-config.ts';
import { type Checker, expectSame } from '../checker.ts';

const PAGE_BYTES = 4096;

export const check: Checker = (c) =>
  expectSame(c, () => {
    const pod = c.in['pod'] as Pod;
    return {
      ...podCgroupConfig(pod, {
        enforceCpuLimits: c.in['enforceCPULimits'] === true,
        cpuPeriod: Number(c.in['cpuPeriod']),
        enforceMemoryQoS: c.in['enforceMemoryQoS'] === true,
        memoryReservationPolicy: String(c.in['memoryReservationPolicy']),
      }),
      memoryHigh: podLevelMemoryHigh(pod, Number(c.in['throttlingFactor']), PAGE_BYTES),
    };
  });
