import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAgent } from '../scripts/node/startAgent.ts';
import type { PrivateContainerd } from '../scripts/node/startContainerd.ts';
import type { CriRuntime } from '../src/cri/ports.ts';
import { BUSYBOX_IMAGE } from '../test/support/containerd.ts';
import { type Figures, quantile } from './figures.ts';
import { cpuSeconds, memoryMiB } from './process-stats.ts';

export interface StaticPodsRun {
  containerd: PrivateContainerd;
  runtime: CriRuntime;
  kubelet: string;
  pods: number;
  settleSeconds: number;
  /** A folder for this run. */
  dir: string;
}

const POLL_MS = 100;
const PATIENCE_MS = 300_000;

/** The pod that is measured: one busybox that sleeps. */
export function benchPod(name: string) {
  const container = {
    name: 'c',
    image: BUSYBOX_IMAGE,
    imagePullPolicy: 'Never',
    command: ['sleep', '100000'],
    resources: { requests: { cpu: '1m', memory: '4Mi' }, limits: { memory: '32Mi' } },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 1, containers: [container] },
  };
}

/**
 * One round with a running kubelet: writes all manifests at once, waits until each pod is Ready in the kubelet's own
 * /pods, idles, removes them, waits until the runtime has no ready sandbox left.
 */
export async function measureStaticPods(run: StaticPodsRun): Promise<Figures> {
  const manifests = join(run.dir, 'manifests');
  await mkdir(manifests, { recursive: true });
  // The bundle, also when a source file is touched during the run.
  const agent = await startAgent({
    containerd: run.containerd,
    kubelet: run.kubelet,
    dir: run.dir,
    manifests,
    env: { KUBELET_TS_RUN: 'dist' },
  });
  try {
    await agent.waitHealthy(60_000);
    const healthy = (performance.now() - agent.startedAt) / 1000;
    while ((await agent.pods()) === undefined) await sleep(20);
    await sleep(1_500);
    const pid = agent.pid();
    if (pid === undefined) throw new Error(`the kubelet ended: ${agent.ended()}`);
    const cpu0 = await cpuSeconds(pid);
    const wall0 = Date.now();
    const t0 = performance.now();
    await writeManifests(manifests, run.pods);
    const ready = await waitReady(() => agent.pods(), run.pods, t0);
    const startCpu = (await cpuSeconds(pid)) - cpu0;
    const started = await startTimes(run.runtime, wall0);
    await sleep(2_000);
    const cpu1 = await cpuSeconds(pid);
    await sleep(run.settleSeconds * 1000);
    const idleCpu = (((await cpuSeconds(pid)) - cpu1) / run.settleSeconds) * 60;
    const { rss } = await memoryMiB(pid);
    const t1 = performance.now();
    for (let i = 0; i < run.pods; i++) await rm(join(manifests, `bench-${i}.yaml`));
    await waitStopped(run.runtime);
    const stop = (performance.now() - t1) / 1000;
    return {
      healthy,
      started50: quantile(started, 0.5),
      startedLast: quantile(started, 1),
      ready50: quantile(ready, 0.5),
      readyLast: quantile(ready, 1),
      startCpu,
      idleCpu,
      rss,
      stop,
    };
  } finally {
    await agent.kill('SIGTERM');
  }
}

async function writeManifests(dir: string, pods: number): Promise<void> {
  for (let i = 0; i < pods; i++) {
    const path = join(dir, `bench-${i}.yaml`);
    const hidden = join(dir, `.bench-${i}`);
    await writeFile(hidden, JSON.stringify(benchPod(`bench-${i}`)));
    await rename(hidden, path);
  }
}

interface ShownPod {
  metadata: { name: string };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Seconds after `t0` at which each pod was first seen Ready. */
export async function waitReady(
  list: () => Promise<unknown>,
  pods: number,
  t0: number,
  { patienceMs = PATIENCE_MS, pollMs = POLL_MS } = {},
): Promise<number[]> {
  const ready = new Map<string, number>();
  while (ready.size < pods) {
    const now = performance.now();
    if (now - t0 > patienceMs) throw new Error(`only ${ready.size} of ${pods} pods are ready after ${patienceMs / 1000} s`);
    const items = ((await list()) as { items?: ShownPod[] } | undefined)?.items ?? [];
    for (const { metadata, status } of items) {
      if (!metadata.name.startsWith('bench-') || ready.has(metadata.name)) continue;
      if (status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')) ready.set(metadata.name, (now - t0) / 1000);
    }
    await sleep(pollMs);
  }
  return [...ready.values()];
}

/** Seconds after `wall0` (ms) at which the runtime started each container. */
export async function startTimes(runtime: CriRuntime, wall0: number): Promise<number[]> {
  const containers = (await runtime.listContainers({ state: 'running' })).filter((c) =>
    c.labels['io.kubernetes.pod.name']?.startsWith('bench-'),
  );
  const statuses = await Promise.all(containers.map((c) => runtime.containerStatus(c.id)));
  return statuses.map((s) => (Number(s.startedAt / 1_000_000n) - wall0) / 1000);
}

export async function waitStopped(runtime: CriRuntime): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  const left = async () => (await runtime.listPodSandbox({ state: 'ready' })).filter((s) => s.metadata.name.startsWith('bench-')).length;
  while ((await left()) > 0) {
    if (performance.now() > end) throw new Error('pods are still running');
    await sleep(POLL_MS);
  }
}
