import { podUid } from '../api/brands.ts';
import { isStaticPod } from '../api/pod.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletConfiguration, KubeletFlags } from '../config/types.ts';
import { systemClock } from '../host/clock.ts';
import { countOpenFiles } from '../host/own-process.ts';
import type { Kubelet } from '../kubelet.ts';
import { type AgentMetrics, createAgentMetrics, type PodCounts } from '../observe/agent-metrics.ts';
import type { Klog } from '../observe/klog.ts';
import type { Logger } from '../observe/log.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import { observeProcess } from '../observe/process-metrics.ts';
import type { Service } from '../observe/service.ts';
import { ProbeCounts } from '../probes/metrics.ts';
import { type HealthCheck, healthzHandler } from '../server/healthz.ts';
import { type Handler, HttpService } from '../server/http.ts';
import { readOnlyHandler } from '../server/readonly.ts';
import { counted, RequestMetrics } from '../server/request-metrics.ts';
import { HealthResults } from '../server/slis.ts';
import { exposition, type MetricFamily } from '../stats/exposition.ts';
import { nodeEviction } from './eviction.ts';
import { observeNode } from './info-metrics.ts';
import { type RealNode, realNode } from './node.ts';
import { nodeOomWatcher } from './oom.ts';
import { kubeletServer } from './server.ts';
import { type NodeStats, nodeStats } from './stats.ts';

export interface RunOptions {
  flags: KubeletFlags;
  config: KubeletConfiguration;
  resolved: ResolvedConfig;
  log: Klog;
  signal: AbortSignal;
}

/** Contract http-api §1: the health port is tried again every five seconds. */
const HEALTHZ_RETRY_MS = 5_000;

/**
 * Runs the agent until `signal` aborts, then ends its work in order; no container is touched. Rejects when it cannot
 * start: the runtime does not answer, the machine is refused, a port is taken.
 */
export async function runKubelet({ flags, config, resolved, log, signal }: RunOptions): Promise<void> {
  const clock = systemClock;
  const registry = createMetrics();
  const seconds = () => clock.monotonic() / 1000;
  const metrics: AgentMetrics = createAgentMetrics(registry, seconds, () => clock.now() / 1000);
  if (flags.kubeconfig === '') log.info('Standalone mode, no API client');
  const probeMetrics = new ProbeCounts();
  const node = await realNode({ flags, config: resolved, log, metrics, registry, probeMetrics, signal });
  metrics.node(node.nodeName);
  observeProcess(registry, countOpenFiles);
  observeNode(registry, node);
  registry.collect(() => metrics.pods(podCounts(node.kubelet)));
  const certificates = await certificatesOf(node, { flags, config: resolved, log, registry });
  const stats = await nodeStats({ node, flags, config: resolved });
  const readOnly = readOnlyEndpoints(node, stats, registry, probeMetrics, log);
  const servers = listeners(resolved, counted(readOnly, new RequestMetrics(registry, seconds, 'readonly')), log);
  if (resolved.enableServer) {
    const setVerbosity = (level: number) => log.setVerbosity(level);
    const { api } = node;
    servers.push(await kubeletServer({ flags, config, resolved, node, certificates, api, registry, readOnly, log, setVerbosity }));
  }
  // Work also ends when the agent itself finds that it cannot go on.
  const failed = new AbortController();
  const ending = AbortSignal.any([signal, failed.signal]);
  const pressure = [...nodeEviction({ node, flags, config: resolved, stats, metrics, log }), nodeOomWatcher({ node, metrics, log })];
  const beside = [...pressure, ...(certificates?.services ?? [])];
  try {
    for (const server of servers) await server.start(ending);
    await node.kubelet.start(ending);
    for (const service of beside) await service.start(ending);
    log.info('Started kubelet', { node: node.nodeName });
    await Promise.race([aborted(signal), ...(certificates?.lost === undefined ? [] : [certificates.lost])]);
    log.info('Stopping: running containers are left as they are');
  } finally {
    failed.abort();
    for (const service of [...servers, ...beside].toReversed()) await service.stop();
    await node.kubelet.stop();
    node.close();
  }
}

/** What renews the node's certificates; undefined without an API server. */
async function certificatesOf(node: RealNode, settings: { flags: KubeletFlags; config: ResolvedConfig; log: Logger; registry: Metrics }) {
  const { cluster, nodeName, hostIPs } = node;
  if (cluster === undefined) return undefined;
  const { nodeCertificates } = await import('./certificates.ts');
  return nodeCertificates({ ...settings, cluster, nodeName, hostIPs });
}

const startTime: MetricFamily = {
  name: 'process_start_time_seconds',
  help: 'Start of the process, seconds since 1970',
  type: 'gauge',
  samples: [{ value: performance.timeOrigin / 1000 }],
};

const ping: HealthCheck = { name: 'ping', check: () => undefined };
/** Lines are written as they come, by the one thread that also answers here: there is no writer of its own that could hang. */
const logCheck: HealthCheck = { name: 'log', check: () => undefined };

function healthz(checks: readonly HealthCheck[], log: Logger, results?: HealthResults): Handler {
  const failed = (check: string, reason: string) => log.error(undefined, 'healthz check failed', { check, reason });
  return healthzHandler(checks, failed, (name, healthy) => results?.observe(name, healthy));
}

/** What the read-only port and the kubelet's port have in common. */
function readOnlyEndpoints(node: RealNode, stats: NodeStats, registry: Metrics, probeMetrics: ProbeCounts, log: Logger): Handler {
  const { kubelet } = node;
  const syncloop: HealthCheck = {
    name: 'syncloop',
    check: () => {
      const sick = kubelet.services.map((s) => [s.name, s.health()] as const).find(([name, h]) => name === 'pleg' && !h.ok);
      return sick === undefined || sick[1].ok ? undefined : sick[1].reason;
    },
  };
  const slis = new HealthResults();
  return readOnlyHandler({
    healthz: healthz([ping, logCheck, syncloop], log, slis),
    slis,
    pods: () => kubelet.pods(),
    metrics: async () => (await registry.text()) + (await stats.storageMetrics()),
    probeMetrics: async () => probeMetrics.text() + exposition([startTime]),
    ...stats,
  });
}

function listeners(config: ResolvedConfig, readOnly: Handler, log: Logger): Service[] {
  const clock = systemClock;
  const servers: Service[] = [];
  if (config.healthzPort > 0) {
    const { healthzBindAddress: address, healthzPort: port } = config;
    servers.push(new HttpService({ name: 'healthz', address, port, handle: healthz([ping], log), clock, log, retryMs: HEALTHZ_RETRY_MS }));
  }
  if (config.readOnlyPort > 0) {
    const { address, readOnlyPort: port } = config;
    log.warn('Everybody who reaches the read-only port may read from it', { field: 'readOnlyPort', port });
    servers.push(new HttpService({ name: 'readonly', address, port, handle: readOnly, clock, log, retryMs: undefined }));
  }
  return servers;
}

/** How many pods are wanted, and how many of them are not over yet. */
function podCounts(kubelet: Kubelet): PodCounts {
  const counts: PodCounts = { desired: { normal: 0, static: 0 }, active: { normal: 0, static: 0 }, mirror: 0 };
  for (const pod of kubelet.pods()) {
    const kind = isStaticPod(pod) ? 'static' : 'normal';
    counts.desired[kind]++;
    if ((kubelet.dispatcher.state(podUid(pod.metadata.uid))?.phase ?? 'finished') !== 'finished') counts.active[kind]++;
  }
  return counts;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
