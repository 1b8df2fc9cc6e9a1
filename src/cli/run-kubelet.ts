import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletConfiguration, KubeletFlags } from '../config/types.ts';
import { systemClock } from '../host/clock.ts';
import { type AgentMetrics, createAgentMetrics } from '../observe/agent-metrics.ts';
import type { Logger } from '../observe/log.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { Service } from '../observe/service.ts';
import { type HealthCheck, healthzHandler } from '../server/healthz.ts';
import { HttpService } from '../server/http.ts';
import { readOnlyHandler } from '../server/readonly.ts';
import { statsSummary } from '../stats/summary.ts';
import { type RealNode, realNode } from './node.ts';

export interface RunOptions {
  flags: KubeletFlags;
  config: KubeletConfiguration;
  resolved: ResolvedConfig;
  log: Logger;
  signal: AbortSignal;
}

/** Contract http-api §1: the health port is tried again every five seconds. */
const HEALTHZ_RETRY_MS = 5_000;

/**
 * Runs the agent until `signal` aborts, then ends its work in order; no container is touched. Rejects when it cannot
 * start: the runtime does not answer, the machine is refused, a port is taken.
 */
export async function runKubelet({ flags, resolved, log, signal }: RunOptions): Promise<void> {
  const clock = systemClock;
  const registry = createMetrics();
  const seconds = () => clock.monotonic() / 1000;
  const metrics: AgentMetrics = createAgentMetrics(registry, seconds, () => clock.now() / 1000);
  if (flags.kubeconfig === '') log.info('Standalone mode, no API client');
  const node = await realNode({ flags, config: resolved, log, metrics, signal });
  metrics.node(node.nodeName);
  const servers = listeners(resolved, node, registry, log);
  try {
    for (const server of servers) await server.start(signal);
    await node.kubelet.start(signal);
    log.info('Started kubelet', { node: node.nodeName });
    await aborted(signal);
    log.info('Stopping: running containers are left as they are');
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    await node.kubelet.stop();
    node.runtime.close();
  }
}

function listeners(config: ResolvedConfig, node: RealNode, registry: Metrics, log: Logger): Service[] {
  const clock = systemClock;
  const { kubelet } = node;
  const ping: HealthCheck = { name: 'ping', check: () => undefined };
  const syncloop: HealthCheck = {
    name: 'syncloop',
    check: () => {
      const sick = kubelet.services.map((s) => [s.name, s.health()] as const).find(([name, h]) => name === 'pleg' && !h.ok);
      return sick === undefined || sick[1].ok ? undefined : sick[1].reason;
    },
  };
  const failed = (name: string, reason: string) => log.error(undefined, 'healthz check failed', { check: name, reason });
  const startedAt = new Date(clock.now()).toISOString();
  const servers: Service[] = [];
  if (config.healthzPort > 0) {
    const handle = healthzHandler([ping], failed);
    const { healthzBindAddress: address, healthzPort: port } = config;
    servers.push(new HttpService({ name: 'healthz', address, port, handle, clock, log, retryMs: HEALTHZ_RETRY_MS }));
  }
  if (config.readOnlyPort > 0) {
    const handle = readOnlyHandler({
      healthz: healthzHandler([ping, syncloop], failed),
      pods: () => kubelet.pods(),
      metrics: () => registry.text(),
      summary: () =>
        statsSummary({ nodeName: node.nodeName, bootTime: startedAt, pods: () => kubelet.pods(), stats: node.runtime.stats, clock }),
    });
    servers.push(
      new HttpService({ name: 'readonly', address: config.address, port: config.readOnlyPort, handle, clock, log, retryMs: undefined }),
    );
  }
  return servers;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
