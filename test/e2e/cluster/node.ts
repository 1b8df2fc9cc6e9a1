import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { containerLogsExist, removeLogLinks } from '../../../scripts/node/removePods.ts';
import { type Agent, startAgent } from '../../../scripts/node/startAgent.ts';
import { type PrivateContainerd, startContainerd } from '../../../scripts/node/startContainerd.ts';
import type { ApiObject } from './apiClient.ts';
import type { Cluster } from './cluster.ts';
import { PKI_FILES } from './components.ts';

const project = resolve(import.meta.dirname, '../../..');

export interface NodeOptions {
  name?: string;
  /** The executable; default `bin/kubelet-ts`. Any kubelet will do. */
  kubelet?: string;
  /** One of the caller's own, which outlives the node; default a new one that ends with the node. */
  containerd?: PrivateContainerd;
  /** Settings laid over those of the harness. */
  config?: Readonly<Record<string, unknown>>;
  /** Further flags. */
  flags?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Folder that the logs of kubelet and containerd are copied to before they are removed. */
  keepLogs?: string;
  /** The kubeconfig; default one with a certificate of the node's user. */
  kubeconfig?: string;
  /** Gives the node a network namespace of its own, with its containerd in it. Only on a cluster that listens on its bridge. */
  ownNetwork?: boolean;
}

/** A node of a test cluster: a containerd and a kubelet. */
export interface ClusterNode {
  readonly name: string;
  /** The InternalIP, on which the kubelet's server listens. */
  readonly address: string;
  readonly containerd: PrivateContainerd;
  readonly agent: Agent;
  /** The Node object; undefined before the kubelet has registered it. */
  get(): Promise<ApiObject | undefined>;
  /** Waits until the Node is Ready; resolves with the seconds since the kubelet's last start. */
  waitReady(timeoutMs?: number): Promise<number>;
  /** Ends the kubelet, and its containerd with all pods. The Node object stays. */
  stop(): Promise<void>;
}

/** The settings of a kubelet that the cluster's API server may call. */
export function nodeConfig(cluster: Cluster, address: string): Record<string, unknown> {
  return {
    address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(cluster.dir, 'pki', PKI_FILES.ca) },
    },
    authorization: { mode: 'Webhook' },
    clusterDomain: 'cluster.local',
  };
}

/** As `Cluster.addNode`, which is the way to call it. */
export async function startNode(
  cluster: Cluster,
  options: NodeOptions & { name: string },
  log: (line: string) => void,
): Promise<ClusterNode> {
  const { name } = options;
  const kubelet = options.kubelet ?? join(project, 'bin/kubelet-ts');
  if (options.ownNetwork === true && options.containerd !== undefined) throw new Error('a given containerd has its network already');
  const network = options.ownNetwork === true ? await cluster.newNodeNetwork(name) : undefined;
  const containerd =
    options.containerd ?? (await startContainerd({ log, ...(network === undefined ? {} : { binary: await network.wrap('containerd') }) }));
  try {
    const address = network?.address ?? (await cluster.newNodeAddress());
    if (network !== undefined) await cluster.routePods(network, containerd.subnet);
    const logLinksWere = await containerLogsExist();
    const agent = await startAgent({
      containerd,
      dir: join(dirname(containerd.dir), `agent-${name}`),
      kubelet: network === undefined ? kubelet : await network.wrap(kubelet),
      ...(options.env === undefined ? {} : { env: options.env }),
      config: { ...nodeConfig(cluster, address), ...options.config },
      flags: [
        '--v=2',
        '--kubeconfig',
        options.kubeconfig ?? (await cluster.nodeKubeconfig(name)),
        '--hostname-override',
        name,
        '--node-ip',
        address,
        ...(options.flags ?? []),
      ],
    });
    log(`node ${name} on ${address} (kubelet pid ${agent.pid()})`);
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      await agent.kill('SIGTERM');
      if (options.keepLogs !== undefined) await keepLogs(options.keepLogs, name, agent, containerd);
      if (options.containerd === undefined) await containerd.stop();
      await removeLogLinks(agent.podLogsDir, logLinksWere);
    };
    const get = () => cluster.api.find(`/api/v1/nodes/${name}`).catch(() => undefined);
    return {
      name,
      address,
      containerd,
      agent,
      get,
      waitReady: (timeoutMs) =>
        cluster.until(
          `node ${name} to be Ready`,
          async () => {
            if (agent.ended() !== undefined) throw new Error(`the kubelet of ${name} ended (${agent.ended()}):\n${await tail(agent)}`);
            return isReady(await get()) && (performance.now() - agent.startedAt) / 1000;
          },
          timeoutMs ?? 60_000,
        ),
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    if (options.containerd === undefined) await containerd.stop();
    throw error;
  }
}

/** True when the object's condition Ready is True. */
export function isReady(object: ApiObject | undefined): boolean {
  const conditions = (object?.status?.conditions ?? []) as { type: string; status: string }[];
  return conditions.some((c) => c.type === 'Ready' && c.status === 'True');
}

async function tail(agent: Agent): Promise<string> {
  return (await agent.log()).trimEnd().split('\n').slice(-15).join('\n');
}

async function keepLogs(folder: string, name: string, agent: Agent, containerd: PrivateContainerd): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(agent.logFile, join(folder, `${name}-kubelet.log`)).catch(() => {});
  await copyFile(agent.configFile, join(folder, `${name}-config.yaml`)).catch(() => {});
  await copyFile(containerd.logFile, join(folder, `${name}-containerd.log`)).catch(() => {});
}
