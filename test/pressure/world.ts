import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { type PrivateContainerd, startContainerd } from '../../scripts/node/startContainerd.ts';
import type { ApiObject } from '../e2e/cluster/apiClient.ts';
import { type Cluster, startCluster } from '../e2e/cluster/cluster.ts';
import type { ClusterNode } from '../e2e/cluster/node.ts';
import { mountSmallDisk } from './small-disk.ts';

const project = resolve(import.meta.dirname, '../..');
export const NodeName = 'squeezed';
export const DiskMiB = 700;
/** What all pods together may have. */
export const PodsMiB = 400;
export const ThresholdMiB = 100;

/** A pod that was evicted, as the API shows it. */
export interface Evicted {
  name: string;
  /** Since `watchEvictions`. */
  seconds: number;
  reason: string;
  message: string;
  disruption: boolean;
}

/** A node of a real cluster whose pods have little memory, on a small disk. */
export class PressureWorld {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly containerd: PrivateContainerd;
  readonly show: (line: string) => void;

  constructor(cluster: Cluster, node: ClusterNode, containerd: PrivateContainerd, show: (line: string) => void) {
    this.cluster = cluster;
    this.node = node;
    this.containerd = containerd;
    this.show = show;
  }

  /** Writes a pod for this node. */
  async create(name: string, spec: Record<string, unknown>, namespace = 'default'): Promise<void> {
    await this.cluster.api.post(`/api/v1/namespaces/${namespace}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels: { test: 'pressure' } },
      spec: {
        nodeName: NodeName,
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 1,
        ...spec,
      },
    });
  }

  pod(name: string, namespace = 'default'): Promise<ApiObject | undefined> {
    return this.cluster.api.find(`/api/v1/namespaces/${namespace}/pods/${name}`);
  }

  async untilReady(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.cluster.until(`pod ${name} to be ready`, async () => conditionOf(await this.pod(name), 'Ready') === 'True', 60_000);
    }
  }

  /** Removes all pods of the test and waits until the node has done so. */
  async clear(): Promise<void> {
    for (const namespace of ['default', 'kube-system']) {
      const path = `/api/v1/namespaces/${namespace}/pods`;
      const list = () => this.cluster.api.list(`${path}?labelSelector=test%3Dpressure`);
      for (const { metadata } of await list()) await this.cluster.api.delete(`${path}/${metadata.name}`).catch(() => {});
      await this.cluster.until('the pods to be gone', async () => (await list()).length === 0, 90_000);
    }
  }

  /** Looks for evicted pods until `expected` of them were seen or `timeoutMs` passed, and then for `afterMs` longer. */
  async evictions(expected: number, { timeoutMs = 60_000, afterMs = 3_000 } = {}): Promise<Evicted[]> {
    const began = performance.now();
    const seen = new Map<string, Evicted>();
    let end = began + timeoutMs;
    let enough = false;
    while (performance.now() < end) {
      for (const pod of await this.cluster.api.list('/api/v1/namespaces/default/pods?labelSelector=test%3Dpressure')) {
        const { name } = pod.metadata;
        const status = pod.status as { phase?: string; reason?: string; message?: string } | undefined;
        if (seen.has(name) || status?.phase !== 'Failed' || (status.reason !== 'Evicted' && status.reason !== 'Preempting')) continue;
        if (status.message?.startsWith('Pod was rejected') === true) continue;
        const { reason, message = '' } = status;
        const disruption = conditionOf(pod, 'DisruptionTarget') === 'True';
        const evicted = { name, seconds: (performance.now() - began) / 1000, reason, message, disruption };
        seen.set(name, evicted);
        this.show(`    evicted after ${evicted.seconds.toFixed(1)} s: ${name}: ${message.trim()}`);
      }
      if (!enough && seen.size >= expected) {
        enough = true;
        end = Math.min(end, performance.now() + afterMs);
      }
      await sleep(200);
    }
    return [...seen.values()];
  }

  /** Waits until the node has that pressure, or has it no more, and the taint that goes with it. */
  async untilPressure(type: string, status: 'True' | 'False', timeoutMs = 60_000): Promise<void> {
    await this.cluster.until(`${type} to be ${status}`, async () => conditionOf(await this.node.get(), type) === status, timeoutMs);
    const key = `node.kubernetes.io/${type.replace('Pressure', '').toLowerCase()}-pressure`;
    await this.cluster.until(
      `the taint ${key} to ${status === 'True' ? 'come' : 'go'}`,
      async () => {
        const taints = ((await this.node.get())?.spec?.['taints'] ?? []) as { key: string }[];
        return taints.some((taint) => taint.key === key) === (status === 'True');
      },
      30_000,
    );
  }

  /** Reasons of the events about an object. */
  async eventReasons(kind: string, name: string): Promise<string[]> {
    const events = await this.cluster.api.list(`/api/v1/events?fieldSelector=involvedObject.kind=${kind},involvedObject.name=${name}`);
    return events.map((event) => event['reason'] as string);
  }

  metrics(): Promise<string> {
    return fetch(`${this.node.agent.url}/metrics`).then((response) => response.text());
  }

  /** Starts the agent again with other settings; pods run on. */
  async restart(config: Record<string, unknown>): Promise<void> {
    const { agent } = this.node;
    await agent.kill('SIGTERM');
    const before = parse(await readFile(agent.configFile, 'utf8')) as Record<string, unknown>;
    await writeFile(agent.configFile, stringify({ ...before, ...config }));
    await agent.start();
    await agent.waitHealthy();
    await this.node.waitReady();
  }
}

export function conditionOf(object: ApiObject | undefined, type: string): string | undefined {
  const conditions = (object?.status?.['conditions'] ?? []) as { type: string; status: string }[];
  return conditions.find((condition) => condition.type === type)?.status;
}

/** Settings that leave the pods `podsMiB` of memory, whatever the machine has. */
export async function memorySettings(podsMiB: number): Promise<Record<string, unknown>> {
  const total = Number(/^MemTotal:\s+([0-9]+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1]);
  return { systemReserved: { memory: `${total - podsMiB * 1024}Ki` } };
}

/** Starts cluster, disk and node, hands them to `work`, and leaves nothing behind. */
export async function withPressureWorld(show: (line: string) => void, work: (world: PressureWorld) => Promise<void>): Promise<void> {
  await using cluster = await startCluster();
  await mkdir(join(project, '.run'), { recursive: true });
  const folder = await mkdtemp(join(project, '.run', 'pressure-'));
  await cluster.own({ folder });
  const disk = await mountSmallDisk(folder, DiskMiB);
  await using containerd = await startContainerd({ dir: join(disk, 'containerd') });
  const node = await cluster.addNode({
    name: NodeName,
    containerd,
    config: {
      ...(await memorySettings(PodsMiB)),
      evictionHard: { 'memory.available': `${ThresholdMiB}Mi`, 'nodefs.available': `${ThresholdMiB}Mi`, 'nodefs.inodesFree': '5%' },
      evictionPressureTransitionPeriod: '12s',
      kernelMemcgNotification: true,
      volumeStatsAggPeriod: '1s',
      nodeStatusUpdateFrequency: '1s',
      // The image of sandboxes is not pinned by older runtimes.
      imageMinimumGCAge: '24h',
    },
  });
  try {
    await node.waitReady();
    await work(new PressureWorld(cluster, node, containerd, show));
  } finally {
    await node.stop();
  }
}
