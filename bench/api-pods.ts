import { setTimeout as sleep } from 'node:timers/promises';
import { removePods } from '../scripts/node/removePods.ts';
import type { PrivateContainerd } from '../scripts/node/startContainerd.ts';
import type { CriRuntime } from '../src/cri/ports.ts';
import type { Cluster } from '../test/e2e/cluster/cluster.ts';
import { isReady } from '../test/e2e/cluster/node.ts';
import { type Figures, quantile } from './figures.ts';
import { cpuSeconds, memoryMiB } from './process-stats.ts';
import { benchPod } from './static-pods.ts';

export interface ApiPodsRun {
  cluster: Cluster;
  containerd: PrivateContainerd;
  runtime: CriRuntime;
  kubelet: string;
  pods: number;
  settleSeconds: number;
  /** Number of the run: names of node and pods carry it. */
  number: number;
}

export const PODS = '/api/v1/namespaces/default/pods';
const PATIENCE_MS = 300_000;

/**
 * One round with a kubelet that is a node of the cluster: creates all pods bound to it one after another, waits until the
 * API server shows each as Ready, idles, deletes them, waits until the API server has none.
 */
export async function measureApiPods(run: ApiPodsRun): Promise<Figures> {
  const { cluster, pods, runtime, settleSeconds } = run;
  const name = `bench-${run.number}`;
  const node = await cluster.addNode({ name, containerd: run.containerd, kubelet: run.kubelet });
  const seen = watchPods(cluster, name);
  try {
    const healthy = await node.waitReady();
    await sleep(2_000);
    const pid = node.agent.pid();
    if (pid === undefined) throw new Error(`the kubelet ended: ${node.agent.ended()}`);
    const cpu0 = await cpuSeconds(pid);
    const t0 = performance.now();
    const wall: number[] = [];
    const created: number[] = [];
    for (let i = 0; i < pods; i++) {
      created.push(performance.now());
      wall.push(Date.now());
      await cluster.api.post(PODS, apiPod(name, i));
    }
    await until(`${pods} pods Ready`, () => seen.ready.size === pods);
    const startCpu = (await cpuSeconds(pid)) - cpu0;
    const readyAt = created.map((_, i) => seen.ready.get(`${name}-${i}`) ?? Number.NaN);
    const ready = created.map((at, i) => ((readyAt[i] ?? Number.NaN) - at) / 1000);
    const phases = await runtimePhases(runtime, name, wall, ready);
    await sleep(2_000);
    const cpu1 = await cpuSeconds(pid);
    await sleep(settleSeconds * 1000);
    const idleCpu = (((await cpuSeconds(pid)) - cpu1) / settleSeconds) * 60;
    const { rss } = await memoryMiB(pid);
    const t1 = performance.now();
    for (let i = 0; i < pods; i++) await cluster.api.delete(`${PODS}/${name}-${i}`);
    await until('all pods gone', () => seen.gone.size === pods);
    return {
      healthy,
      ready50: quantile(ready, 0.5),
      ready99: quantile(ready, 0.99),
      readyLast: (Math.max(...readyAt) - t0) / 1000,
      startCpu,
      idleCpu,
      rss,
      stop: (performance.now() - t1) / 1000,
      ...phases,
    };
  } finally {
    seen.stop();
    await node.stop();
    await removePods(run.containerd.endpoint);
    await cluster.api.delete(`/api/v1/nodes/${name}`).catch(() => {});
  }
}

/** The pod of the static bench, bound to a node, with the token that pods get unless they refuse it. */
export function apiPod(node: string, i: number): unknown {
  const pod = benchPod(`${node}-${i}`);
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { bench: node } },
    spec: { ...pod.spec, nodeName: node, automountServiceAccountToken: true },
  };
}

/** When each pod was first seen Ready, and gone: `performance.now()` by name. */
function watchPods(cluster: Cluster, label: string): { ready: Map<string, number>; gone: Map<string, number>; stop(): void } {
  const ready = new Map<string, number>();
  const gone = new Map<string, number>();
  const end = new AbortController();
  const follow = async () => {
    while (!end.signal.aborted) {
      for await (const { type, object } of cluster.api.watch(`${PODS}?labelSelector=bench%3D${label}&resourceVersion=0`, end.signal)) {
        const { name } = object.metadata;
        if (type === 'DELETED') gone.set(name, performance.now());
        else if (isReady(object) && !ready.has(name)) ready.set(name, performance.now());
      }
    }
  };
  const done = follow().catch(() => {});
  return {
    ready,
    gone,
    stop: () => {
      end.abort();
      void done;
    },
  };
}

/**
 * Where the time of a start goes, as the runtime tells it, medians in seconds: from the creation in the API server to the
 * sandbox, to the container, to its start, and to its being seen Ready. The sum of the medians is not the median of the sums.
 */
async function runtimePhases(
  runtime: CriRuntime,
  label: string,
  wall: readonly number[],
  ready: readonly number[],
): Promise<Partial<Figures>> {
  const index = (pod: string | undefined) => (pod?.startsWith(`${label}-`) ? Number(pod.slice(label.length + 1)) : Number.NaN);
  const ms = (ns: bigint) => Number(ns / 1_000_000n);
  const sandbox = new Map<number, number>();
  for (const s of await runtime.listPodSandbox()) sandbox.set(index(s.metadata.name), ms(s.createdAt));
  const phases: [number, number, number, number][] = [];
  const containers = (await runtime.listContainers()).filter((c) => !Number.isNaN(index(c.labels['io.kubernetes.pod.name'])));
  for (const status of await Promise.all(containers.map((c) => runtime.containerStatus(c.id)))) {
    const i = index(status.labels['io.kubernetes.pod.name']);
    const [at, made, seen] = [wall[i], sandbox.get(i), ready[i]];
    if (at === undefined || made === undefined || seen === undefined) continue;
    const [created, started] = [ms(status.createdAt), ms(status.startedAt)];
    phases.push([made - at, created - made, started - created, at + seen * 1000 - started]);
  }
  const median = (k: 0 | 1 | 2 | 3) =>
    quantile(
      phases.map((p) => p[k] / 1000),
      0.5,
    );
  return { toSandbox: median(0), toContainer: median(1), toStart: median(2), toReady: median(3) };
}

export async function until(what: string, check: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!check()) {
    if (performance.now() > end) throw new Error(`not after ${PATIENCE_MS / 1000} s: ${what}`);
    await sleep(10);
  }
}
