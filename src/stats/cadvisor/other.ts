import type { PressureLine } from '../../host/cgroups/stat-files.ts';
import type { InterfaceCounts } from '../../host/process-stats.ts';
import type { GroupSample } from '../group.ts';
import { counter, type GroupMetric, gauge } from './family.ts';

const finite = (value: number) => (Number.isFinite(value) ? value : 0);

function network(direction: 'receive' | 'transmit', what: string, help: string, get: (i: InterfaceCounts) => number): GroupMetric {
  return {
    name: `container_network_${direction}_${what}_total`,
    help: `${help} ${direction === 'receive' ? 'received' : 'sent'}`,
    type: 'counter',
    values: ({ network: interfaces = [] }) => interfaces.map((i) => ({ value: get(i), labels: { interface: i.name } })),
  };
}

/** Set network: of pods (their sandbox) and of the machine. */
export const networkMetrics: readonly GroupMetric[] = [
  network('receive', 'bytes', 'Bytes', (i) => i.rxBytes),
  network('receive', 'packets', 'Packets', (i) => i.rxPackets),
  network('receive', 'packets_dropped', 'Packets dropped when', (i) => i.rxDropped),
  network('receive', 'errors', 'Errors of packets', (i) => i.rxErrors),
  network('transmit', 'bytes', 'Bytes', (i) => i.txBytes),
  network('transmit', 'packets', 'Packets', (i) => i.txPackets),
  network('transmit', 'packets_dropped', 'Packets dropped when', (i) => i.txDropped),
  network('transmit', 'errors', 'Errors of packets', (i) => i.txErrors),
];

/** Set process. No limit on threads is 0 there. */
export const processMetrics: readonly GroupMetric[] = [
  gauge('container_processes', 'Processes of the group', (s) => s.processes),
  gauge('container_file_descriptors', 'Open file descriptors', (s) => s.openFiles?.descriptors),
  gauge('container_sockets', 'Open sockets', (s) => s.openFiles?.sockets),
  gauge('container_threads', 'Threads of the group and those below it', ({ stats }) => stats.pids?.current ?? 0),
  gauge('container_threads_max', 'Most threads that the group may have, 0 for no limit', ({ stats }) => finite(stats.pids?.limit ?? 0)),
  {
    name: 'container_ulimits_soft',
    help: 'Soft resource limit of the first process, -1 for none',
    type: 'gauge',
    values: ({ softFileLimit }) => (softFileLimit === undefined ? [] : [{ value: softFileLimit, labels: { ulimit: 'max_open_files' } }]),
  },
];

function stalled(what: 'cpu' | 'memory' | 'io', word: 'waiting' | 'stalled'): GroupMetric {
  const line = (s: GroupSample): PressureLine | undefined => {
    const psi = what === 'io' ? s.stats.ioPsi : s.stats[what]?.psi;
    return word === 'waiting' ? psi?.some : psi?.full;
  };
  const who = word === 'waiting' ? 'some tasks' : 'all tasks';
  const of = what === 'cpu' ? 'the CPU' : what === 'io' ? 'I/O' : 'memory';
  return counter(`container_pressure_${what}_${word}_seconds_total`, `Time in which ${who} waited for ${of}, in seconds`, (s) => {
    const total = line(s)?.total;
    return total === undefined ? undefined : total / 1e6;
  });
}

/** Set pressure: where the kernel counts it. */
export const pressureMetrics: readonly GroupMetric[] = (['cpu', 'memory', 'io'] as const).flatMap((what) => [
  stalled(what, 'waiting'),
  stalled(what, 'stalled'),
]);

const untimed = (metric: GroupMetric): GroupMetric => ({ ...metric, untimed: true });
const hasCpu = (s: GroupSample, value: number) => (s.stats.cpu === undefined ? undefined : value);
const hasMemory = (s: GroupSample, value: number) => (s.stats.memory === undefined ? undefined : finite(value));
const seconds = (ms: number | undefined) => (ms === undefined ? undefined : Math.trunc(ms / 1000));

/** What the group is and may use. */
export const specMetrics: readonly GroupMetric[] = [
  untimed(gauge('container_creation_time_seconds', 'When the container was created', (s) => seconds(s.createdAtMs))),
  untimed(gauge('container_start_time_seconds', 'When the container was started', (s) => seconds(s.startedAtMs ?? s.createdAtMs))),
  untimed(gauge('container_spec_cpu_period', 'Period of the CPU quota in microseconds', (s) => hasCpu(s, s.stats.limits.cpuPeriod))),
  untimed(gauge('container_spec_cpu_shares', 'Share of the CPU', (s) => hasCpu(s, s.stats.limits.cpuShares))),
  untimed(
    gauge('container_spec_cpu_quota', 'CPU quota in microseconds', (s) =>
      s.stats.limits.cpuQuota === 0 ? undefined : hasCpu(s, s.stats.limits.cpuQuota),
    ),
  ),
  untimed(gauge('container_spec_memory_limit_bytes', 'Limit of memory, 0 for none', (s) => hasMemory(s, s.stats.limits.memory))),
  untimed(gauge('container_spec_memory_swap_limit_bytes', 'Limit of swap, 0 for none', (s) => hasMemory(s, s.stats.limits.swap))),
  untimed(
    gauge('container_spec_memory_reservation_limit_bytes', 'Memory that is kept for the group', (s) =>
      hasMemory(s, s.stats.limits.memoryReservation),
    ),
  ),
  gauge('container_last_seen', 'When the container was last seen', (s) => Math.trunc(s.stats.atMs / 1000)),
  gauge('container_health_state', 'Health by the runtime’s own check: 1 healthy, 0 not, -1 without a check', () => -1),
];
