import type { CgroupCpu } from '../../host/cgroups/cgroup-stats.ts';
import { counter, type GroupMetric } from './family.ts';

const seconds = (nanoseconds: number | undefined) => (nanoseconds === undefined ? undefined : nanoseconds / 1e9);

/** Throttling says something only of a group with a quota. */
function quota(name: string, help: string, get: (cpu: CgroupCpu) => number): GroupMetric {
  return counter(name, help, ({ stats: { cpu, limits } }) => (cpu === undefined || limits.cpuQuota === 0 ? undefined : get(cpu)));
}

/** Contract metrics.md §5, set cpu. */
export const cpuMetrics: readonly GroupMetric[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'CPU time used, in seconds',
    type: 'counter',
    values: ({ stats: { cpu } }) => (cpu === undefined || cpu.total === 0 ? [] : [{ value: cpu.total / 1e9, labels: { cpu: 'total' } }]),
  },
  counter('container_cpu_user_seconds_total', 'CPU time used in user mode, in seconds', ({ stats }) => seconds(stats.cpu?.user)),
  counter('container_cpu_system_seconds_total', 'CPU time used in kernel mode, in seconds', ({ stats }) => seconds(stats.cpu?.system)),
  quota('container_cpu_cfs_periods_total', 'Periods of the CPU quota that have passed', (cpu) => cpu.periods),
  quota('container_cpu_cfs_throttled_periods_total', 'Periods in which the CPU quota was used up', (cpu) => cpu.throttledPeriods),
  quota('container_cpu_cfs_throttled_seconds_total', 'Time spent waiting for more CPU quota, in seconds', (cpu) => cpu.throttledTime / 1e9),
  quota('container_cpu_cfs_burst_periods_total', 'Periods in which more than the CPU quota was used', (cpu) => cpu.burstPeriods),
  quota('container_cpu_cfs_burst_seconds_total', 'CPU time used beyond the quota, in seconds', (cpu) => cpu.burstTime / 1e9),
];
