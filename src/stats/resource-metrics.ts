import { exposition, type MetricFamily, type Sample } from './exposition.ts';
import type { Summary } from './summary-types.ts';

const CPU_HELP = '[STABLE] Cumulative cpu time consumed by the';
const MEMORY_HELP = '[STABLE] Current working set in bytes of the';

/** The text of /metrics/resource (contract metrics.md §2), from a summary of CPU and memory. A summary that fails is told by resource_scrape_error. */
export async function resourceMetrics(summary: () => Promise<Summary>): Promise<string> {
  const read = await summary().catch(() => undefined);
  return exposition([
    ...(read === undefined ? [] : families(read)),
    gauge('resource_scrape_error', '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise', [
      { value: read === undefined ? 1 : 0 },
    ]),
  ]);
}

function families({ node, pods }: Summary): MetricFamily[] {
  const s = {
    nodeCpu: [] as Sample[],
    nodeMemory: [] as Sample[],
    nodeSwap: [] as Sample[],
    cpu: [] as Sample[],
    memory: [] as Sample[],
    swap: [] as Sample[],
    swapLimit: [] as Sample[],
    started: [] as Sample[],
    podCpu: [] as Sample[],
    podMemory: [] as Sample[],
    podSwap: [] as Sample[],
  };
  add(s.nodeCpu, {}, seconds(node.cpu?.usageCoreNanoSeconds), node.cpu?.time);
  add(s.nodeMemory, {}, node.memory?.workingSetBytes, node.memory?.time);
  add(s.nodeSwap, {}, node.swap?.swapUsageBytes, node.swap?.time);
  for (const pod of pods) {
    const podLabels = { namespace: pod.podRef.namespace, pod: pod.podRef.name };
    for (const { name, startTime, cpu, memory, swap } of pod.containers) {
      const labels = { container: name, ...podLabels };
      add(s.cpu, labels, seconds(cpu?.usageCoreNanoSeconds), cpu?.time);
      add(s.memory, labels, memory?.workingSetBytes, memory?.time);
      add(s.swap, labels, swap?.swapUsageBytes, swap?.time);
      const limit = swap?.swapAvailableBytes === undefined ? undefined : swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0);
      add(s.swapLimit, labels, limit, swap?.time);
      if (startTime !== null) s.started.push({ labels, value: Date.parse(startTime) / 1000 });
    }
    add(s.podCpu, podLabels, seconds(pod.cpu?.usageCoreNanoSeconds), pod.cpu?.time);
    add(s.podMemory, podLabels, pod.memory?.workingSetBytes, pod.memory?.time);
    add(s.podSwap, podLabels, pod.swap?.swapUsageBytes, pod.swap?.time);
  }
  return [
    counter('node_cpu_usage_seconds_total', `${CPU_HELP} node in core-seconds`, s.nodeCpu),
    gauge('node_memory_working_set_bytes', `${MEMORY_HELP} node`, s.nodeMemory),
    gauge('node_swap_usage_bytes', '[ALPHA] Current swap usage of the node in bytes', s.nodeSwap),
    counter('container_cpu_usage_seconds_total', `${CPU_HELP} container in core-seconds`, s.cpu),
    gauge('container_memory_working_set_bytes', `${MEMORY_HELP} container`, s.memory),
    gauge('container_swap_usage_bytes', '[ALPHA] Current amount of the container swap usage in bytes', s.swap),
    gauge('container_swap_limit_bytes', '[ALPHA] Most swap that the container may use, in bytes', s.swapLimit),
    gauge('container_start_time_seconds', '[STABLE] Start time of the container since unix epoch in seconds', s.started),
    counter('pod_cpu_usage_seconds_total', `${CPU_HELP} pod in core-seconds`, s.podCpu),
    gauge('pod_memory_working_set_bytes', `${MEMORY_HELP} pod`, s.podMemory),
    gauge('pod_swap_usage_bytes', '[ALPHA] Current amount of the pod swap usage in bytes', s.podSwap),
  ];
}

function add(to: Sample[], labels: Record<string, string>, value: number | undefined, time: string | undefined): void {
  if (value !== undefined && time !== undefined) to.push({ labels, value, atMs: Date.parse(time) });
}

const counter = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({ name, help, type: 'counter', samples });
const gauge = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({ name, help, type: 'gauge', samples });
const seconds = (nanoseconds: number | undefined) => (nanoseconds === undefined ? undefined : nanoseconds / 1e9);
