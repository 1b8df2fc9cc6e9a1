import { fork } from 'node:child_process';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Agent, startAgent } from '../scripts/node/startAgent.ts';
import type { PrivateContainerd } from '../scripts/node/startContainerd.ts';
import type { CriRuntime } from '../src/cri/ports.ts';
import { BUSYBOX_IMAGE } from '../test/support/containerd.ts';
import { cpuSeconds, memoryMiB } from './process-stats.ts';
import { waitReady, waitStopped } from './static-pods.ts';

export interface ProbesRun {
  containerd: PrivateContainerd;
  runtime: CriRuntime;
  kubelet: string;
  /** Half of them HTTP (readiness), half TCP (liveness), one of each a container. */
  probes: number;
  seconds: number;
  /** A folder for this run. */
  dir: string;
}

export interface ProbeFigures {
  /** Probes a second that arrived. */
  rate: number;
  /** Percent of one core, of the kubelet alone. */
  cpu: number;
  rss: number;
  /** Delay of the event loop in milliseconds; absent for a kubelet that has none. */
  delay?: { p50: number; p99: number; max: number };
}

const CONTAINERS_PER_POD = 50;

/** Starts pods whose containers are probed once a second, waits until all are ready, and measures the kubelet while nothing else happens. */
export async function measureProbes(run: ProbesRun): Promise<ProbeFigures> {
  const manifests = join(run.dir, 'manifests');
  await mkdir(manifests, { recursive: true });
  const target = await startTarget();
  const agent = await startAgent({
    containerd: run.containerd,
    kubelet: run.kubelet,
    dir: run.dir,
    manifests,
    env: { KUBELET_TS_RUN: 'dist' },
    flags: ['--v=0'],
  });
  try {
    await agent.waitHealthy(60_000);
    const pods = probedPods(run.probes, target.ports);
    for (const pod of pods) {
      const hidden = join(manifests, `.${pod.metadata.name}`);
      await writeFile(hidden, JSON.stringify(pod));
      await rename(hidden, join(manifests, `${pod.metadata.name}.yaml`));
    }
    // The answer is long: to ask more often would be a load of its own.
    await waitReady(() => agent.pods(), pods.length, performance.now(), { patienceMs: 1_200_000, pollMs: 2_000 });
    await sleep(5_000);
    const pid = agent.pid();
    if (pid === undefined) throw new Error(`the kubelet ended: ${agent.ended()}`);
    await loopDelay(agent);
    const [cpu, answered, began] = [await cpuSeconds(pid), target.answered(), performance.now()];
    await sleep(run.seconds * 1000);
    const seconds = (performance.now() - began) / 1000;
    const figures: ProbeFigures = {
      rate: (target.answered() - answered) / seconds,
      cpu: (((await cpuSeconds(pid)) - cpu) / seconds) * 100,
      rss: (await memoryMiB(pid)).rss,
    };
    const delay = await loopDelay(agent);
    for (const pod of pods) await rm(join(manifests, `${pod.metadata.name}.yaml`));
    await waitStopped(run.runtime);
    return delay === undefined ? figures : { ...figures, delay };
  } finally {
    await agent.kill('SIGTERM');
    target.stop();
  }
}

/** One table of all candidates, their rounds' medians. */
export function probesTable(results: ReadonlyMap<string, readonly ProbeFigures[]>): string {
  const lines = [
    '| | probes a second | CPU (% of a core) | resident memory (MiB) | event loop p50 / p99 / max (ms) |',
    '| --- | ---: | ---: | ---: | ---: |',
  ];
  for (const [name, rounds] of results) {
    const of = (figure: (f: ProbeFigures) => number | undefined) => median(rounds.map(figure).filter((v) => v !== undefined));
    const delays = [of((f) => f.delay?.p50), of((f) => f.delay?.p99), of((f) => f.delay?.max)].map((v) => v.toFixed(1)).join(' / ');
    const cells = [of((f) => f.rate).toFixed(0), of((f) => f.cpu).toFixed(1), of((f) => f.rss).toFixed(0)];
    lines.push(`| ${name} | ${cells.join(' | ')} | ${rounds.some((f) => f.delay !== undefined) ? delays : ''} |`);
  }
  return lines.join('\n');
}

/** Milliseconds that the event loop may be late at the 99th percentile. */
const MAX_DELAY_P99 = 20;

/** One line an aim, met or missed, from the rounds of this agent and of another kubelet (none: not compared). */
export function probeVerdicts(own: readonly ProbeFigures[], other: readonly ProbeFigures[]): string[] {
  const lines: string[] = [];
  if (other.length > 0) {
    const [a, b] = [own, other].map((rounds) => median(rounds.map((f) => f.cpu)));
    const ratio = (a ?? Number.NaN) / (b ?? Number.NaN);
    lines.push(`- CPU: ${ratio.toFixed(2)} of the other, aim 1: ${ratio <= 1 ? 'met' : 'missed'}`);
  }
  const p99 = median(own.flatMap((f) => (f.delay === undefined ? [] : [f.delay.p99])));
  lines.push(`- event loop p99: ${p99.toFixed(1)} ms, aim ${MAX_DELAY_P99}: ${p99 <= MAX_DELAY_P99 ? 'met' : 'missed'}`);
  return lines;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

interface Target {
  ports: { http: number; tcp: number };
  answered(): number;
  stop(): void;
}

async function startTarget(): Promise<Target> {
  const child = fork(join(import.meta.dirname, 'probe-target.ts'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let answered = 0;
  const ports = await new Promise<Target['ports']>((resolve) => {
    child.stdout?.on('data', (chunk) => {
      for (const line of String(chunk).trim().split('\n')) {
        if (line.startsWith('{')) resolve(JSON.parse(line) as Target['ports']);
        else answered = Number(line);
      }
    });
  });
  return { ports, answered: () => answered, stop: () => void child.kill('SIGTERM') };
}

function probedPods(probes: number, ports: Target['ports']) {
  const containers = Math.ceil(probes / 2);
  const each = { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 30 };
  const container = (i: number) => ({
    name: `c${i}`,
    image: BUSYBOX_IMAGE,
    imagePullPolicy: 'Never',
    command: ['sleep', '100000'],
    readinessProbe: { ...each, httpGet: { host: '127.0.0.1', port: ports.http, path: '/healthz' } },
    ...(2 * i + 1 < probes ? { livenessProbe: { ...each, tcpSocket: { host: '127.0.0.1', port: ports.tcp } } } : {}),
  });
  return Array.from({ length: Math.ceil(containers / CONTAINERS_PER_POD) }, (_, p) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `bench-${p}`, namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: Array.from({ length: Math.min(CONTAINERS_PER_POD, containers - p * CONTAINERS_PER_POD) }, (_, i) =>
        container(p * CONTAINERS_PER_POD + i),
      ),
    },
  }));
}

/** Since the last time it was asked; undefined for a kubelet that has no event loop. */
async function loopDelay(agent: Agent): Promise<ProbeFigures['delay']> {
  const text = await (await fetch(`${agent.url}/metrics`)).text();
  const of = (quantile: string) =>
    Number(new RegExp(`^kts_event_loop_delay_seconds\\{quantile="${quantile}"\\} (\\S+)`, 'm').exec(text)?.[1]) * 1000;
  const [p50, p99, max] = [of('0.5'), of('0.99'), of('1')];
  return Number.isNaN(p50) ? undefined : { p50, p99, max };
}
