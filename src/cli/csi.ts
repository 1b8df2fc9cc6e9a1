import { systemClock } from '../host/clock.ts';
import type { KubeApi } from '../kube/api.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { Logger } from '../observe/log.ts';
import { CsiPlugin } from '../plugins/csi-plugin.ts';
import type { PluginHandler } from '../plugins/plugin-handler.ts';
import { CsiDrivers } from '../volumes/csi/drivers.ts';
import { CsiNodePublisher } from '../volumes/csi/node-publisher.ts';

export interface NodeCsiInput {
  api: KubeApi;
  nodeName: string;
  log: Logger;
  metrics: AgentMetrics;
  /** The node may be ready now. */
  initialized(): void;
}

/** CSI on this node; only nodes of a cluster have it. */
export interface NodeCsi {
  /** Takes drivers in. */
  readonly handler: PluginHandler;
  readonly publisher: CsiNodePublisher;
}

export function nodeCsi({ api, nodeName, log, metrics, initialized }: NodeCsiInput): NodeCsi {
  const clock = systemClock;
  const drivers = new CsiDrivers(clock, { called: (...call) => metrics.csiCalled(...call) });
  const publisher = new CsiNodePublisher({ api, nodeName, clock, log, initialized });
  const handler = new CsiPlugin({ drivers, publisher, log, changed: () => {} });
  return { handler, publisher };
}
