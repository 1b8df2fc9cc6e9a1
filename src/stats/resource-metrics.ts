import type { Pod } from '../api/types.ts';
import type { CriStats } from '../cri/ports.ts';
import type { ContainerStats } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { NodeUsage } from '../host/node-usage.ts';
import { newest, sum, usageByPod } from './container-usage.ts';
import { exposition, type MetricFamily, type Sample } from './exposition.ts';

export interface ResourceMetricsDeps {
  pods(): Pod[];
  stats: Pick<CriStats, 'listContainerStats'>;
  nodeUsage(): Promise<NodeUsage>;
  clock: Pick<Clock, 'now'>;
}

const CPU_HELP = '[STABLE] Cumulative cpu time consumed by the';
const MEMORY_HELP = '[STABLE] Current working set in bytes of the';

/** The text of /metrics/resource (contract metrics.md §2). A runtime that fails is told by resource_scrape_error. */
export async function resourceMetrics({ pods, stats, nodeUsage, clock }: ResourceMetricsDeps): Promise<string> {
  const [usage, list] = await Promise.all([nodeUsage(), stats.listContainerStats().catch(() => undefined)]);
  const atMs = clock.now();
  const node = (value: number | undefined): Sample[] => (value === undefined ? [] : [{ value, atMs }]);
  return exposition([
    counter('node_cpu_usage_seconds_total', `${CPU_HELP} node in core-seconds`, node(seconds(usage.cpuNanoseconds))),
    gauge('node_memory_working_set_bytes', `${MEMORY_HELP} node`, node(usage.memory?.workingSet)),
    gauge('node_swap_usage_bytes', '[ALPHA] Current swap usage of the node in bytes', node(usage.swap?.usage)),
    ...podFamilies(pods(), list ?? []),
    gauge('resource_scrape_error', '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise', [
      { value: list === undefined ? 1 : 0 },
    ]),
  ]);
}

function podFamilies(pods: readonly Pod[], list: readonly ContainerStats[]): MetricFamily[] {
  const samples = {
    cpu: [] as Sample[],
    memory: [] as Sample[],
    swap: [] as Sample[],
    started: [] as Sample[],
    podCpu: [] as Sample[],
    podMemory: [] as Sample[],
  };
  for (const { pod, containers } of usageByPod(pods, list)) {
    const podLabels = { namespace: pod.metadata.namespace, pod: pod.metadata.name };
    for (const { name, stats, status } of containers) {
      const labels = { container: name, ...podLabels };
      add(samples.cpu, labels, seconds(stats.cpu?.usageCoreNanoSeconds), stats.cpu?.timestamp);
      add(samples.memory, labels, stats.memory?.workingSetBytes, stats.memory?.timestamp);
      add(samples.swap, labels, stats.swap?.swapUsageBytes, stats.swap?.timestamp);
      const started = status?.state?.running?.startedAt;
      if (typeof started === 'string') samples.started.push({ labels, value: Date.parse(started) / 1000 });
    }
    const all = containers.map((c) => c.stats);
    const cpu = sum(all.map((s) => s.cpu?.usageCoreNanoSeconds));
    add(samples.podCpu, podLabels, cpu === undefined ? undefined : cpu / 1e9, newest(all.map((s) => s.cpu?.timestamp)));
    add(samples.podMemory, podLabels, sum(all.map((s) => s.memory?.workingSetBytes)), newest(all.map((s) => s.memory?.timestamp)));
  }
  return [
    counter('container_cpu_usage_seconds_total', `${CPU_HELP} container in core-seconds`, samples.cpu),
    gauge('container_memory_working_set_bytes', `${MEMORY_HELP} container`, samples.memory),
    gauge('container_swap_usage_bytes', '[ALPHA] Current amount of the container swap usage in bytes', samples.swap),
    gauge('container_start_time_seconds', '[STABLE] Start time of the container since unix epoch in seconds', samples.started),
    counter('pod_cpu_usage_seconds_total', `${CPU_HELP} pod in core-seconds`, samples.podCpu),
    gauge('pod_memory_working_set_bytes', `${MEMORY_HELP} pod`, samples.podMemory),
  ];
}

function add(to: Sample[], labels: Record<string, string>, value: number | undefined, nanoseconds: bigint | undefined): void {
  if (value !== undefined && nanoseconds !== undefined) to.push({ labels, value, atMs: Number(nanoseconds / 1_000_000n) });
}

const counter = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({ name, help, type: 'counter', samples });
const gauge = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({ name, help, type: 'gauge', samples });
const seconds = (nanoseconds: bigint | undefined) => (nanoseconds === undefined ? undefined : Number(nanoseconds) / 1e9);
