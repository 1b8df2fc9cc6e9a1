import { mkdir } from 'node:fs/promises';
import type { PrivateContainerd } from '../scripts/node/startContainerd.ts';
import type { CriRuntime } from '../src/cri/ports.ts';
import type { Cluster } from '../test/e2e/cluster/cluster.ts';
import { apiPod, PODS } from './api-pods.ts';
import { containerConfig, inOrder, sandboxConfig } from './bare-calls.ts';
import { type Figures, quantile } from './figures.ts';

export interface ApiFloorRun {
  cluster: Cluster;
  containerd: PrivateContainerd;
  runtime: CriRuntime;
  pods: number;
  /** How many pods are under way at a time. */
  atATime: number;
  dir: string;
  number: number;
}

/**
 * The floor under the figures of `measureApiPods`: each pod by nothing but its runtime calls, as soon as the API server has
 * it, while the API server bears what a kubelet would write to it: a status when a pod runs, and its deletion when it is
 * gone. Only the runtime calls count.
 */
export async function measureApiFloor({ cluster, containerd, runtime, pods, atATime, dir, number }: ApiFloorRun): Promise<Figures> {
  await containerd.ownFolder(dir);
  await mkdir(dir, { recursive: true });
  const name = `bench-${number}`;
  const writes: Promise<unknown>[] = [];
  await cluster.api.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  try {
    const t0 = performance.now();
    const created: number[] = [];
    const posts: Promise<unknown>[] = [];
    const posted = (i: number) => posts[i] ?? Promise.reject(new Error(`pod ${i} was not created`));
    let last: Promise<unknown> = Promise.resolve();
    for (let i = 0; i < pods; i++) {
      last = last.then(() => {
        created[i] = performance.now();
        return cluster.api.post(PODS, apiPod(name, i));
      });
      posts.push(last);
    }
    const started: number[] = [];
    const made: { sandbox: string; container: string }[] = [];
    const cpu0 = process.cpuUsage();
    await inOrder(pods, atATime, async (i) => {
      await posted(i);
      const config = sandboxConfig(i, containerd.cgroupRoot, dir);
      const sandbox = await runtime.runPodSandbox(config, '');
      const container = await runtime.createContainer(sandbox, containerConfig(), config);
      await runtime.startContainer(container);
      started[i] = performance.now();
      made[i] = { sandbox, container };
      writes.push(cluster.api.patch(`${PODS}/${name}-${i}/status`, runningStatus(), 'strategic'));
    });
    const cpu = process.cpuUsage(cpu0);
    await Promise.all(writes);
    const ready = started.map((at, i) => (at - (created[i] ?? Number.NaN)) / 1000);
    const t1 = performance.now();
    const deletes: Promise<unknown>[] = [];
    last = Promise.resolve();
    for (let i = 0; i < pods; i++) {
      last = last.then(() => cluster.api.delete(`${PODS}/${name}-${i}`));
      deletes.push(last);
    }
    await inOrder(pods, pods, async (i) => {
      await deletes[i];
      const pod = made[i];
      if (pod === undefined) return;
      // The kubelet gives two seconds at least.
      await runtime.stopContainer(pod.container, 2);
      await runtime.stopPodSandbox(pod.sandbox);
      writes.push(cluster.api.delete(`${PODS}/${name}-${i}`, { graceSeconds: 0 }));
    });
    const stop = (performance.now() - t1) / 1000;
    await Promise.all(writes);
    return {
      ready50: quantile(ready, 0.5),
      ready99: quantile(ready, 0.99),
      readyLast: (Math.max(...started) - t0) / 1000,
      startCpu: (cpu.user + cpu.system) / 1e6,
      stop,
    };
  } finally {
    await Promise.allSettled(writes);
    await inOrder(pods, 8, async (i) => void (await cluster.api.delete(`${PODS}/${name}-${i}`, { graceSeconds: 0 }).catch(() => {})));
    for (const s of await runtime.listPodSandbox()) {
      await runtime.stopPodSandbox(s.id);
      await runtime.removePodSandbox(s.id);
    }
    await cluster.api.delete(`/api/v1/nodes/${name}`).catch(() => {});
  }
}

/** What a kubelet tells of a running pod, in size and shape. */
function runningStatus(): unknown {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    status: {
      phase: 'Running',
      startTime: now,
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: now,
      })),
      containerStatuses: [
        {
          name: 'c',
          ready: true,
          started: true,
          restartCount: 0,
          image: 'registry.local/busybox:1',
          imageID: `sha256:${'0'.repeat(64)}`,
          containerID: `containerd://${'0'.repeat(64)}`,
          state: { running: { startedAt: now } },
        },
      ],
    },
  };
}
