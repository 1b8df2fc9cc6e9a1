import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../../scripts/node/freePort.ts';
import { readCgroupStats } from '../../src/host/cgroups/cgroup-stats.ts';
import { openCgroupFs } from '../../src/host/cgroups/node-cgroup-fs.ts';
import { systemClock } from '../../src/host/clock.ts';
import type { Summary } from '../../src/stats/summary-types.ts';
import { newAuthority } from '../e2e/cluster/pki.ts';
import { type Agent, removePods, startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { ask, begin, type KubeletClient } from '../support/kubeletClient.ts';
import { readPromText } from '../support/promText.ts';

/** What the agent says of a pod that works, against the kernel's own files; the metrics against the contract's table. */

let daemon: PrivateContainerd;
let agent: Agent;
let admin: KubeletClient;
const LOG_LINES = 1_200_000;

const manifest = (name: string, command: string, more = '') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: default }
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{ name: scratch, emptyDir: {} }]
  containers:
    - name: main
      image: ${BUSYBOX_IMAGE}
      imagePullPolicy: Never
      command: [sh, -c, ${JSON.stringify(command)}]
      volumeMounts: [{ name: scratch, mountPath: /scratch }]
${more}
`;

before(async () => {
  daemon = await startContainerd();
  const folder = join(dirname(daemon.dir), 'stats-test');
  await daemon.ownFolder(folder);
  const manifests = join(folder, 'manifests');
  await mkdir(manifests, { recursive: true });
  const work =
    'dd if=/dev/zero of=/scratch/f bs=1M count=5; dd if=/dev/zero of=/layer bs=1M count=3; i=0; while true; do i=$((i+1)); [ $((i % 20000)) = 0 ] && sleep 0.05; done';
  await writeFile(
    join(manifests, 'busy.yaml'),
    manifest(
      'busy',
      work,
      '      resources: { limits: { cpu: 500m, memory: 80Mi } }\n      readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 }',
    ),
  );
  const writer = `until [ -e /scratch/go ]; do sleep 0.1; done; awk 'BEGIN { for (i = 0; i < ${LOG_LINES}; i++) print i, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz" }'; sleep 600`;
  await writeFile(join(manifests, 'writer.yaml'), manifest('writer', writer));
  const ca = await newAuthority('stats');
  await writeFile(join(folder, 'ca.crt'), ca.certPem);
  const [port = 0] = await freePorts(1);
  const authentication = { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: join(folder, 'ca.crt') } };
  const config = { port, authentication, volumeStatsAggPeriod: '1s', containerLogMaxSize: '20Mi', containerLogMonitorInterval: '3s' };
  agent = await startAgent({ containerd: daemon, manifests, config });
  const { certPem: cert, keyPem: key } = await ca.client({ commonName: 'admin' });
  admin = { port, cert, key };
  await agent.waitHealthy();
  await until('both pods run', async () => (await summary()).pods.length === 2);
});

after(async () => {
  await agent?.kill('SIGTERM');
  if (daemon !== undefined) await removePods(daemon.endpoint);
  await daemon?.stop();
});

async function until(what: string, check: () => Promise<boolean>, timeoutMs = 40_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > end) assert.fail(`not within ${timeoutMs / 1000} s: ${what}`);
    await sleep(200);
  }
}

const text = async (path: string) => (await ask(admin, path)).body.toString();
const summary = async (query = '') => JSON.parse(await text(`/stats/summary${query}`)) as Summary;
const busy = ({ pods }: Summary) => pods.find((p) => p.podRef.name.startsWith('busy')) ?? assert.fail('the pod is not in the summary');

test('CPU and memory are those of the control group’s files, the network those of the pod’s', async () => {
  const cgroups = await openCgroupFs(`${daemon.cgroupRoot}/kubepods`, systemClock);
  const uid = busy(await summary()).podRef.uid;
  const path = `${daemon.cgroupRoot}/kubepods/pod${uid}`;
  const id = (await cgroups.children(path)).find((name) => name.length === 64) ?? assert.fail('no group of a container');
  // A reading is shared for a second.
  await sleep(1_100);
  const read = (group: string) => readCgroupStats(cgroups, group, () => Date.now());
  const earlier = await Promise.all([path, '/'].map(read));
  // Asked at once, so that one reading serves all three.
  const [told, cadvisorText, resourceText] = await Promise.all([summary(), text('/metrics/cadvisor'), text('/metrics/resource')]);
  const metrics = readPromText(cadvisorText);
  const resource = readPromText(resourceText);
  const later = await Promise.all([path, '/'].map(read));
  assert.ok(id.length > 0);
  const between = (what: string, value: number | undefined, get: (s: (typeof earlier)[0]) => number | undefined, of: 0 | 1) => {
    const [low, high] = [get(earlier[of] ?? assert.fail()), get(later[of] ?? assert.fail())];
    assert.ok(
      value !== undefined && low !== undefined && high !== undefined && low <= value && value <= high,
      `${what}: ${low} <= ${value} <= ${high}`,
    );
  };
  const pod = busy(told);
  between('CPU of the pod', pod.cpu?.usageCoreNanoSeconds, (s) => s.cpu?.total, 0);
  between('CPU of the node', told.node.cpu?.usageCoreNanoSeconds, (s) => s.cpu?.total, 1);
  const near = (what: string, value: number | undefined, actual: number | undefined) =>
    assert.ok(
      value !== undefined && actual !== undefined && Math.abs(value - actual) <= Math.max(2 << 20, actual / 20),
      `${what}: ${value}, ${actual}`,
    );
  near('working set of the pod', pod.memory?.workingSetBytes, later[0]?.memory?.workingSet);
  near('memory of the pod', pod.memory?.usageBytes, later[0]?.memory?.usage);
  assert.equal(pod.memory?.availableBytes, 80 * 1024 * 1024 - (pod.memory?.workingSetBytes ?? 0));
  const sample = (families: typeof metrics, name: string, labels: Record<string, string>) =>
    families.get(name)?.samples.find((s) => Object.entries(labels).every(([key, value]) => s.labels[key] === value));
  const [container] = pod.containers;
  const labels = { pod: pod.podRef.name, namespace: 'default', container: 'main' };
  assert.equal(sample(metrics, 'container_cpu_usage_seconds_total', labels)?.value, (container?.cpu?.usageCoreNanoSeconds ?? 0) / 1e9);
  assert.equal(sample(resource, 'container_cpu_usage_seconds_total', labels)?.value, (container?.cpu?.usageCoreNanoSeconds ?? 0) / 1e9);
  assert.equal(sample(metrics, 'container_memory_working_set_bytes', labels)?.value, container?.memory?.workingSetBytes);
  const quota = sample(metrics, 'container_spec_cpu_quota', labels)?.value;
  assert.equal(quota, 50_000);
  const eth0 = pod.network?.interfaces?.find((i) => i.name === 'eth0');
  assert.equal(sample(metrics, 'container_network_receive_bytes_total', { pod: pod.podRef.name, interface: 'eth0' })?.value, eth0?.rxBytes);
  assert.ok((eth0?.rxBytes ?? 0) > 0);
});

test('disk: the writable layer as the runtime counts it, logs, volumes, and their sum', async () => {
  await until('volumes and the layer are measured', async () => {
    const { containers, volume } = busy(await summary());
    return (volume?.find((v) => v.name === 'scratch')?.usedBytes ?? 0) >= 5 << 20 && (containers[0]?.rootfs?.usedBytes ?? 0) >= 3 << 20;
  });
  const pod = busy(await summary());
  const [container] = pod.containers;
  const scratch = pod.volume?.find((v) => v.name === 'scratch');
  assert.ok((scratch?.usedBytes ?? 0) < 6 << 20 && (scratch?.capacityBytes ?? 0) > 0);
  const sum = (container?.rootfs?.usedBytes ?? 0) + (container?.logs?.usedBytes ?? 0) + (scratch?.usedBytes ?? 0);
  const storage = pod['ephemeral-storage']?.usedBytes ?? 0;
  assert.ok(storage >= sum && storage <= sum + (64 << 10), `${storage} is the sum ${sum} and the hosts file`);
  const only = busy(await summary('?only_cpu_and_memory=true'));
  assert.deepEqual(Object.keys(only).sort(), ['containers', 'cpu', 'memory', 'podRef', 'startTime', 'swap']);
});

test('a second look gives rates', async () => {
  await until('the pod has a rate', async () => (busy(await summary()).cpu?.usageNanoCores ?? 0) > 0);
  const { cpu } = busy(await summary());
  assert.ok((cpu?.usageNanoCores ?? 0) < 2e9, 'at most the quota of half a CPU, with room for a coarse clock');
});

test('every endpoint of metrics parses as Prometheus reads it; names, types and labels are the contract’s', async () => {
  const contract = JSON.parse(await readFile(resolve(import.meta.dirname, '../fixtures/metrics.json'), 'utf8')) as Record<
    string,
    [string, string, ...string[]][]
  >;
  const documented = await readFile(resolve(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  await text('/healthz');
  for (const [endpoint, rows] of Object.entries(contract)) {
    const families = readPromText(await text(endpoint));
    const known = new Map(rows.map(([name, type, ...labels]) => [name, { type, labels: labels.sort().join(',') }]));
    for (const { name, type, samples } of families.values()) {
      const row = known.get(name);
      if (row === undefined) {
        assert.match(name, /^(kts_|process_|kubernetes_build_info$)/, `${endpoint}: ${name} is not in the contract`);
        continue;
      }
      assert.equal(type, row.type, name);
      for (const { labels } of samples) {
        const names = Object.keys(labels).filter((label) => !(type === 'histogram' && label === 'le'));
        assert.equal(names.sort().join(','), row.labels, name);
      }
    }
    const silent = [...known.keys()].filter((name) => !families.has(name) && !documented.includes(`| ${name} |`));
    assert.deepEqual(silent, [], `${endpoint} lacks what docs/metrics.md does not list`);
  }
});

test('go tool pprof opens the profiles', async (t) => {
  const { body } = await ask(admin, '/debug/pprof/profile?seconds=1');
  assert.deepEqual([body[0], body[1]], [0x1f, 0x8b]);
  const heap = await ask(admin, '/debug/pprof/heap?seconds=1');
  assert.equal(heap.status, 200);
  assert.equal((await ask(admin, '/debug/pprof/goroutine')).status, 404);
  const go = await promisify(execFile)('go', ['version'], { env: { PATH: `${process.env['PATH']}:/usr/local/go/bin` } }).catch(
    () => undefined,
  );
  if (go === undefined) return t.diagnostic('there is no Go here: the profile was not opened');
  const dir = await mkdtemp(join(tmpdir(), 'kts-pprof-'));
  try {
    for (const [name, data, unit] of [
      ['cpu', body, 'cpu'],
      ['heap', heap.body, 'inuse_space'],
    ] as const) {
      await writeFile(join(dir, name), data);
      const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/local/go/bin`, PPROF_TMPDIR: dir };
      const { stdout } = await promisify(execFile)('go', ['tool', 'pprof', '-top', join(dir, name)], { env });
      assert.match(stdout, new RegExp(`Type: ${unit}`));
      assert.match(stdout, /flat%/);
    }
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('checkpoint: what the runtime says is passed on', async () => {
  const pod = busy(await summary()).podRef.name;
  const { status, body } = await ask(admin, `/checkpoint/default/${pod}/main`, { method: 'POST' });
  if (status !== 200) assert.match(body.toString(), new RegExp(`^checkpointing of default/${pod}/main failed \\(`));
  assert.equal((await ask(admin, `/checkpoint/default/${pod}/main`)).status, 405);
});

test('100 MB of a log, followed across rotations in constant memory', async () => {
  const { pods } = await summary();
  const pod = pods.find((p) => p.podRef.name.startsWith('writer'))?.podRef ?? assert.fail();
  const residentMiB = async () => Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${agent.pid()}/status`, 'utf8'))?.[1]) / 1024;
  const response = await begin(admin, `/containerLogs/default/${pod.name}/main?follow=true`);
  const before = await residentMiB();
  let most = before;
  const watch = setInterval(() => void residentMiB().then((now) => (most = Math.max(most, now))), 100);
  try {
    await ask(admin, `/run/default/${pod.name}/main?cmd=${encodeURIComponent('touch /scratch/go')}`, { method: 'POST' });
    let next = 0;
    let rest = '';
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith(`${next} `)) assert.fail(`line ${next} is ${JSON.stringify(line.slice(0, 60))}`);
        next++;
      }
      if (next === LOG_LINES) break;
    }
    assert.equal(next, LOG_LINES);
  } finally {
    clearInterval(watch);
    response.destroy();
  }
  assert.ok(most - before < 80, `the agent grew from ${Math.round(before)} to ${Math.round(most)} MiB`);
});
