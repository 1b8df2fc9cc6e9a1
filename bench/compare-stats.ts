/**
 * `node bench/compare-stats.ts`: what kubelet-ts and the Go kubelet say of the same running pods, one after the other: every
 * field of /stats/summary and every metric of /metrics/cadvisor and /metrics/resource that only one of them has, and values
 * that stand still but differ. Builds the Go kubelet where the cache lacks it. Exit code 1 when something differs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { goTool } from '../test/e2e/cluster/goTools.ts';
import { removePods, startAgent } from '../test/support/agent.ts';
import { BUSYBOX_IMAGE, startContainerd } from '../test/support/containerd.ts';
import { readPromText } from '../test/support/promText.ts';

const manifest = `
apiVersion: v1
kind: Pod
metadata: { name: compare, namespace: default }
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{ name: scratch, emptyDir: {} }]
  containers:
    - name: main
      image: ${BUSYBOX_IMAGE}
      imagePullPolicy: Never
      command: [sh, -c, 'dd if=/dev/zero of=/scratch/f bs=1M count=5; dd if=/dev/zero of=/layer bs=1M count=3; exec sleep 100000']
      volumeMounts: [{ name: scratch, mountPath: /scratch }]
      resources: { limits: { cpu: 500m, memory: 80Mi } }
`;
/** The Go kubelet's collector looks every 10 to 15 s; volumes are measured in their own period. */
const SETTLE_MS = 40_000;

interface Told {
  summary: Map<string, number | string>;
  metrics: Map<string, Map<string, number>>;
}

const containerd = await startContainerd();
let code = 1;
try {
  const dir = join(dirname(containerd.dir), 'compare');
  await containerd.ownFolder(dir);
  const manifests = join(dir, 'manifests');
  await mkdir(manifests, { recursive: true });
  await writeFile(join(manifests, 'pod.yaml'), manifest);
  const config = { volumeStatsAggPeriod: '5s' };
  const look = async (kubelet?: string): Promise<Told> => {
    const agent = await startAgent({
      containerd,
      manifests,
      dir: join(dir, 'agent'),
      config,
      ...(kubelet === undefined ? {} : { kubelet }),
    });
    await agent.waitHealthy(60_000);
    await sleep(SETTLE_MS);
    const text = async (path: string) => (await fetch(agent.url + path)).text();
    const told = await read(text);
    await agent.kill('SIGTERM');
    return told;
  };
  const ours = await look();
  // Its collector looks for containerd at one fixed path: in a mount namespace of its own, ours is there.
  const socket = containerd.endpoint.replace(/^unix:\/\//, '');
  const mounts = `mkdir -p /run/containerd && mount -t tmpfs none /run/containerd && : > /run/containerd/containerd.sock && mount --bind ${socket} /run/containerd/containerd.sock`;
  const wrapper = join(dir, 'kubelet');
  const program = await goTool('kubelet', (line) => console.log(line));
  await writeFile(wrapper, `#!/bin/sh\nexec unshare --mount --propagation private sh -c '${mounts} && exec ${program} "$@"' sh "$@"\n`, {
    mode: 0o755,
  });
  const theirs = await look(wrapper);
  const lines = differences(theirs, ours);
  for (const line of lines) console.log(line);
  console.log(lines.length === 0 ? 'no difference' : `${lines.length} differences`);
  code = lines.length === 0 ? 0 : 1;
} finally {
  await removePods(containerd.endpoint);
  await containerd.stop();
}
process.exitCode = code;

async function read(text: (path: string) => Promise<string>): Promise<Told> {
  const summary = new Map<string, number | string>();
  flatten('', JSON.parse(await text('/stats/summary')), summary);
  const metrics = new Map<string, Map<string, number>>();
  for (const path of ['/metrics/cadvisor', '/metrics/resource']) {
    for (const { name, samples } of readPromText(await text(path)).values()) {
      const series = new Map<string, number>();
      for (const { labels, value } of samples) {
        // Where the machine keeps other groups and mounts is not what is compared.
        if (labels['pod'] !== undefined && !labels['pod'].startsWith('compare')) continue;
        series.set(
          JSON.stringify(
            Object.entries(labels)
              .filter(([key]) => key !== 'image')
              .sort(),
          ),
          value,
        );
      }
      metrics.set(`${path} ${name}`, series);
    }
  }
  return { summary, metrics };
}

/** Lists are keyed by name. */
function flatten(path: string, value: unknown, into: Map<string, number | string>): void {
  if (Array.isArray(value)) {
    for (const item of value as { name?: string; podRef?: { name: string } }[])
      flatten(`${path}[${item.name ?? item.podRef?.name}]`, item, into);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) flatten(path === '' ? key : `${path}.${key}`, item, into);
  } else if (typeof value === 'number' || typeof value === 'string') into.set(path, value);
}

function differences(theirs: Told, ours: Told): string[] {
  const lines: string[] = [];
  // The machine's other interfaces and groups come and go; pressure is told as zeros by the Go kubelet where there is none.
  const skip = /node\.network|\.psi\.|\.io\.|systemContainers\[(kubelet|runtime|misc)\]/;
  for (const path of new Set([...theirs.summary.keys(), ...ours.summary.keys()])) {
    if (skip.test(path)) continue;
    const [a, b] = [theirs.summary.get(path), ours.summary.get(path)];
    if (a === undefined || b === undefined) lines.push(`summary ${path}: ${a === undefined ? 'only ours' : 'only theirs'} (${a ?? b})`);
    else if (/^pods/.test(path) && /(usedBytes|inodesUsed|process_count|availableBytes|startTime)$/.test(path) && !near(a, b)) {
      lines.push(`summary ${path}: theirs ${a}, ours ${b}`);
    }
  }
  for (const name of new Set([...theirs.metrics.keys(), ...ours.metrics.keys()])) {
    const [a, b] = [theirs.metrics.get(name), ours.metrics.get(name)];
    if (a === undefined || b === undefined) {
      lines.push(`${name}: ${a === undefined ? 'only ours' : 'only theirs'}`);
      continue;
    }
    for (const labels of new Set([...a.keys(), ...b.keys()])) {
      const [x, y] = [a.get(labels), b.get(labels)];
      if (x === undefined || y === undefined) lines.push(`${name} ${labels}: ${x === undefined ? 'only ours' : 'only theirs'}`);
      else if (labels.includes('compare') && !near(x, y) && !/last_seen/.test(name))
        lines.push(`${name} ${labels}: theirs ${x}, ours ${y}`);
    }
  }
  return lines;
}

/** Equal but for what a sleeping pod and the disk around it do in a minute. */
function near(a: number | string, b: number | string): boolean {
  if (typeof a === 'string' || typeof b === 'string') return String(a).slice(0, 19) === String(b).slice(0, 19);
  return Math.abs(a - b) <= Math.max(1 << 20, Math.abs(a) / 50);
}
