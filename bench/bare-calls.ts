import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CriRuntime } from '../src/cri/ports.ts';
import type { ContainerConfig, PodSandboxConfig } from '../src/cri/types.ts';
import { BUSYBOX_IMAGE } from '../test/support/containerd.ts';
import { type Figures, quantile } from './figures.ts';

export interface BareRun {
  runtime: CriRuntime;
  cgroupRoot: string;
  pods: number;
  /** How many pods are under way at a time. */
  atATime: number;
  dir: string;
}

/** The floor: the same pods by nothing but the calls that they need, and stopped by the calls that this needs. */
export async function measureBareCalls({ runtime, cgroupRoot, pods, atATime, dir }: BareRun): Promise<Figures> {
  await mkdir(dir, { recursive: true });
  const t0 = performance.now();
  const ready: number[] = [];
  const sandboxes: { sandbox: string; container: string }[] = [];
  const cpu0 = process.cpuUsage();
  await inOrder(pods, atATime, async (i) => {
    const config = sandboxConfig(i, cgroupRoot, dir);
    const sandbox = await runtime.runPodSandbox(config, '');
    const container = await runtime.createContainer(sandbox, containerConfig(), config);
    await runtime.startContainer(container);
    ready.push((performance.now() - t0) / 1000);
    sandboxes.push({ sandbox, container });
  });
  const cpu = process.cpuUsage(cpu0);
  const t1 = performance.now();
  await inOrder(pods, pods, async (i) => {
    const made = sandboxes[i];
    if (made === undefined) return;
    await runtime.stopContainer(made.container, 2);
    await runtime.stopPodSandbox(made.sandbox);
  });
  const stop = (performance.now() - t1) / 1000;
  await inOrder(pods, 4, async (i) => {
    const made = sandboxes[i];
    if (made !== undefined) await runtime.removePodSandbox(made.sandbox);
  });
  return { ready50: quantile(ready, 0.5), readyLast: quantile(ready, 1), startCpu: (cpu.user + cpu.system) / 1e6, stop };
}

/** Runs `work` for 0..n-1, `atATime` side by side, beginning in order. */
export async function inOrder(n: number, atATime: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < n; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: Math.min(n, atATime) }, lane));
}

/** The sandbox of pod `i`, logs below `dir`. */
export function sandboxConfig(i: number, cgroupRoot: string, dir: string): PodSandboxConfig {
  const uid = `bare-${i}-${process.pid}-${Math.round(performance.now())}`;
  return {
    metadata: { name: `bench-bare-${i}`, uid, namespace: 'default', attempt: 0 },
    hostname: `bench-bare-${i}`,
    logDirectory: join(dir, uid),
    portMappings: [],
    labels: {},
    annotations: {},
    linux: {
      cgroupParent: cgroupRoot,
      securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' }, seccomp: { profileType: 'RuntimeDefault' } },
    },
  };
}

/** The one container of each pod: a busybox that sleeps. */
export function containerConfig(): ContainerConfig {
  return {
    metadata: { name: 'c', attempt: 0 },
    image: { image: BUSYBOX_IMAGE },
    command: ['sleep', '100000'],
    args: [],
    envs: [],
    mounts: [],
    devices: [],
    labels: {},
    annotations: {},
    logPath: 'c/0.log',
    linux: {
      resources: { cpuShares: 2, memoryLimitInBytes: 32 * 2 ** 20 },
      securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' }, seccomp: { profileType: 'RuntimeDefault' } },
    },
  };
}
