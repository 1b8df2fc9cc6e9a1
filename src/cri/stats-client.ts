import { listCall, required, type ServiceCaller } from './caller.ts';
import { readPodSandboxMetrics, type WirePodSandboxMetrics } from './convert/metrics.ts';
import { readContainerStats, readPodSandboxStats, type WireContainerStats, type WirePodSandboxStats } from './convert/stats.ts';
import type { CriStats } from './ports.ts';
import type * as t from './types.ts';

const containerList = listCall<WireContainerStats>('ListContainerStats', 'stats');
const containerStream = listCall<WireContainerStats>('StreamContainerStats', 'containerStats');
const sandboxList = listCall<WirePodSandboxStats>('ListPodSandboxStats', 'stats');
const sandboxStream = listCall<WirePodSandboxStats>('StreamPodSandboxStats', 'podSandboxStats');
const metricsList = listCall<WirePodSandboxMetrics>('ListPodSandboxMetrics', 'podMetrics');
const metricsStream = listCall<WirePodSandboxMetrics>('StreamPodSandboxMetrics', 'podSandboxMetrics');

/** The statistics and metrics part of RuntimeService; every call of it is optional for a runtime. */
export class StatsClient implements CriStats {
  readonly #rpc: ServiceCaller;

  constructor(rpc: ServiceCaller) {
    this.#rpc = rpc;
  }

  async containerStats(id: string, opts?: t.CallOptions): Promise<t.ContainerStats> {
    const { stats } = await this.#rpc.call<{ stats: WireContainerStats | null }>('ContainerStats', { containerId: id }, opts, id);
    return readContainerStats(required(stats, 'ContainerStats', 'statistics'));
  }

  async listContainerStats(filter?: t.ContainerStatsFilter, opts?: t.CallOptions): Promise<t.ContainerStats[]> {
    return (await this.#rpc.list(containerList, containerStream, { filter }, opts)).map(readContainerStats);
  }

  async podSandboxStats(id: string, opts?: t.CallOptions): Promise<t.PodSandboxStats> {
    const { stats } = await this.#rpc.call<{ stats: WirePodSandboxStats | null }>('PodSandboxStats', { podSandboxId: id }, opts, id);
    return readPodSandboxStats(required(stats, 'PodSandboxStats', 'statistics'));
  }

  async listPodSandboxStats(filter?: t.PodSandboxStatsFilter, opts?: t.CallOptions): Promise<t.PodSandboxStats[]> {
    return (await this.#rpc.list(sandboxList, sandboxStream, { filter }, opts)).map(readPodSandboxStats);
  }

  async listMetricDescriptors(opts?: t.CallOptions): Promise<t.MetricDescriptor[]> {
    return (await this.#rpc.call<{ descriptors: t.MetricDescriptor[] }>('ListMetricDescriptors', {}, opts)).descriptors;
  }

  async listPodSandboxMetrics(opts?: t.CallOptions): Promise<t.PodSandboxMetrics[]> {
    return (await this.#rpc.list(metricsList, metricsStream, {}, opts)).map(readPodSandboxMetrics);
  }
}
