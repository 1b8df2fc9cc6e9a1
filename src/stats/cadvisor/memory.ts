import type { CgroupMemory } from '../../host/cgroups/cgroup-stats.ts';
import { counter, type GroupMetric, gauge } from './family.ts';

type Field = Exclude<keyof CgroupMemory, 'psi'>;
const of =
  (field: Field) =>
  ({ stats }: { stats: { memory?: CgroupMemory } }) =>
    stats.memory?.[field];

/** Contract metrics.md §5, sets memory and oom_event. */
export const memoryMetrics: readonly GroupMetric[] = [
  gauge('container_memory_working_set_bytes', 'Memory in use that cannot be dropped at once', of('workingSet')),
  gauge('container_memory_usage_bytes', 'Memory in use, with all caches', of('usage')),
  gauge('container_memory_max_usage_bytes', 'Most memory that was ever in use', of('maxUsage')),
  gauge('container_memory_rss', 'Anonymous memory in bytes', of('rss')),
  gauge('container_memory_cache', 'Page cache in bytes', of('cache')),
  gauge('container_memory_swap', 'Swap in use, in bytes', of('swap')),
  gauge('container_memory_mapped_file', 'Mapped file memory in bytes', of('mappedFile')),
  gauge('container_memory_kernel_usage', 'Kernel memory in bytes', of('kernel')),
  gauge('container_memory_total_active_file_bytes', 'Active file memory in bytes', of('activeFile')),
  gauge('container_memory_total_inactive_file_bytes', 'Inactive file memory in bytes', of('inactiveFile')),
  gauge('container_memory_file_dirty_bytes', 'Changed file memory that is not written yet, in bytes', of('fileDirty')),
  gauge('container_memory_file_writeback_bytes', 'File memory that is being written, in bytes', of('fileWriteback')),
  counter('container_memory_failcnt', 'How often the memory limit was hit', of('failcnt')),
  counter('container_memory_events_high_total', 'How often memory.high slowed the group down', of('eventsHigh')),
  counter('container_memory_events_max_total', 'How often the group was about to go beyond memory.max', of('eventsMax')),
  counter('container_memory_pgscan_total', 'Pages looked at to reclaim memory', of('pgscan')),
  counter('container_memory_pgsteal_total', 'Pages reclaimed', of('pgsteal')),
  counter('container_memory_workingset_refault_file_total', 'File pages read again after they were reclaimed', of('refaultFile')),
  counter('container_memory_workingset_refault_anon_total', 'Anonymous pages read again after they were reclaimed', of('refaultAnon')),
  {
    name: 'container_memory_failures_total',
    help: 'Page faults',
    type: 'counter',
    values: ({ stats: { memory } }) =>
      memory === undefined
        ? []
        : ['container', 'hierarchy'].flatMap((scope) => [
            { value: memory.pageFaults, labels: { failure_type: 'pgfault', scope } },
            { value: memory.majorPageFaults, labels: { failure_type: 'pgmajfault', scope } },
          ]),
  },
  counter('container_oom_events_total', 'Processes that the kernel killed for want of memory', of('oomKills')),
];
