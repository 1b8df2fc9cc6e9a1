import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../api/types.ts';
import type { ContainerStats } from '../cri/types.ts';
import { exposition } from './exposition.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { Summary } from './summary.ts';

const at = 1_700_000_000_000;
const time = BigInt(at) * 1_000_000n;

const container = (id: string, name: string, uid = 'u1'): ContainerStats => ({
  id,
  metadata: { name, attempt: 0 },
  labels: { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.container.name': name },
  annotations: {},
  cpu: { timestamp: time, usageCoreNanoSeconds: 1_500_000_000n, usageNanoCores: 7 },
  memory: { timestamp: time, workingSetBytes: 100, rssBytes: 50 },
});

const status = (name: string, id: string) => ({
  name,
  ready: true,
  restartCount: 0,
  image: 'i',
  imageID: 'i',
  containerID: `containerd://${id}`,
  state: { running: { startedAt: '2023-11-14T22:13:20Z' } },
});

const pods = [
  {
    metadata: { name: 'p', namespace: 'd', uid: 'u1' },
    spec: { containers: [] },
    status: { startTime: '2023-11-14T22:13:19Z', containerStatuses: [status('a', '1'), status('b', '2')] },
  },
] as unknown as Pod[];

const list = [container('1', 'a'), container('2', 'b'), container('old', 'b'), container('9', 'x', 'other')];
const usage = {
  cpuNanoseconds: 5_000_000_000n,
  memory: { usage: 300, workingSet: 200, rss: 9, pageFaults: 8, majorPageFaults: 7 },
  swap: { usage: 1, available: 2 },
};

test('resource metrics: the node, containers that run now, and the sums of their pods', async () => {
  const text = await resourceMetrics({
    pods: () => pods,
    stats: { listContainerStats: async () => list },
    nodeUsage: async () => usage,
    clock: { now: () => at },
  });
  const samples = text.split('\n').filter((l) => l !== '' && !l.startsWith('#'));
  assert.deepEqual(samples, [
    `node_cpu_usage_seconds_total 5 ${at}`,
    `node_memory_working_set_bytes 200 ${at}`,
    `node_swap_usage_bytes 1 ${at}`,
    `container_cpu_usage_seconds_total{container="a",namespace="d",pod="p"} 1.5 ${at}`,
    `container_cpu_usage_seconds_total{container="b",namespace="d",pod="p"} 1.5 ${at}`,
    `container_memory_working_set_bytes{container="a",namespace="d",pod="p"} 100 ${at}`,
    `container_memory_working_set_bytes{container="b",namespace="d",pod="p"} 100 ${at}`,
    'container_start_time_seconds{container="a",namespace="d",pod="p"} 1700000000',
    'container_start_time_seconds{container="b",namespace="d",pod="p"} 1700000000',
    `pod_cpu_usage_seconds_total{namespace="d",pod="p"} 3 ${at}`,
    `pod_memory_working_set_bytes{namespace="d",pod="p"} 200 ${at}`,
    'resource_scrape_error 0',
  ]);
});

test('resource metrics: a runtime that fails costs the containers and is told', async () => {
  const fails = () => Promise.reject(new Error('down'));
  const text = await resourceMetrics({
    pods: () => pods,
    stats: { listContainerStats: fails },
    nodeUsage: async () => usage,
    clock: { now: () => at },
  });
  assert.match(text, /^node_memory_working_set_bytes 200/m);
  assert.match(text, /^resource_scrape_error 1$/m);
  assert.doesNotMatch(text, /container_cpu/);
});

test('summary: sums of pods, the rate of the node, only what is asked for', async () => {
  let now = at;
  let cpu = 5_000_000_000n;
  const space = { available: 40, capacity: 100, used: 50, inodes: 10, inodesFree: 4 };
  const summary = new Summary({
    nodeName: 'n',
    bootTime: 'boot',
    memoryCapacity: 1_000,
    pods: () => pods,
    stats: { listContainerStats: async () => list },
    nodeUsage: async () => ({ ...usage, cpuNanoseconds: cpu }),
    nodeFilesystem: async () => space,
    imageFilesystem: async () => ({ space, used: 20, inodesUsed: 3 }),
    clock: { now: () => now },
  });
  const read = async (only = false) =>
    JSON.parse(JSON.stringify(await summary.read(only))) as { node: Record<string, unknown>; pods: Record<string, unknown>[] };
  const first = await read();
  const iso = new Date(at).toISOString();
  assert.deepEqual(first.node['cpu'], { time: iso, usageCoreNanoSeconds: 5e9 });
  assert.deepEqual(first.node['memory'], {
    time: iso,
    availableBytes: 800,
    usageBytes: 300,
    workingSetBytes: 200,
    rssBytes: 9,
    pageFaults: 8,
    majorPageFaults: 7,
  });
  assert.deepEqual(first.node['fs'], {
    time: iso,
    availableBytes: 40,
    capacityBytes: 100,
    usedBytes: 50,
    inodesFree: 4,
    inodes: 10,
    inodesUsed: 6,
  });
  assert.deepEqual(first.node['runtime'], {
    imageFs: { time: iso, availableBytes: 40, capacityBytes: 100, usedBytes: 20, inodesFree: 4, inodes: 10, inodesUsed: 3 },
  });
  assert.equal(first.pods.length, 1);
  assert.deepEqual(first.pods[0]?.['cpu'], { time: iso, usageNanoCores: 14, usageCoreNanoSeconds: 3e9 });
  assert.deepEqual(first.pods[0]?.['memory'], { time: iso, workingSetBytes: 200, rssBytes: 100 });
  now += 2_000;
  cpu += 1_000_000_000n;
  const second = await read(true);
  assert.equal((second.node['cpu'] as Record<string, number>)['usageNanoCores'], 500_000_000);
  assert.deepEqual(Object.keys(second.node), ['nodeName', 'startTime', 'cpu', 'memory', 'swap']);
});

test('exposition: labels are escaped, a family without samples is left out', () => {
  const text = exposition([
    { name: 'a', help: 'A', type: 'gauge', samples: [{ labels: { l: 'x"\\\n' }, value: 1 }] },
    { name: 'b', help: 'B', type: 'gauge', samples: [] },
  ]);
  assert.equal(text, '# HELP a A\n# TYPE a gauge\na{l="x\\"\\\\\\n"} 1\n');
});
