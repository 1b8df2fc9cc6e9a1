import assert from 'node:assert/strict';
import test from 'node:test';
import type { ContainerStats } from '../cri/types.ts';
import { readCgroupStats } from '../host/cgroups/cgroup-stats.ts';
import type { ObservedPod } from '../pleg/types.ts';
import { groupFamilies, groupMetrics } from './cadvisor/cadvisor-metrics.ts';
import { CpuRates } from './cpu-rates.ts';
import { exposition } from './exposition.ts';
import type { GroupSample } from './group.ts';
import type { Collection } from './group-collector.ts';
import { containerIdOf, plainGroup, podGroups } from './pod-groups.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { type SummaryDeps, SummaryProvider } from './summary.ts';

const at = 1_700_000_000_000;
const nanoseconds = BigInt(at) * 1_000_000n;
const iso = new Date(at).toISOString();

function files(cpu: number, memory: number): Record<string, string> {
  return {
    'cpuacct.usage': String(cpu),
    'memory.usage_in_bytes': String(memory + 10),
    'memory.limit_in_bytes': String(memory * 2),
    'memory.memsw.limit_in_bytes': '9223372036854771712',
    'memory.stat': 'total_inactive_file 10\ntotal_rss 5\npgfault 3\npgmajfault 1',
    'cpu.cfs_quota_us': '-1',
    'blkio.throttle.io_service_bytes_recursive': '8:0 Read 7\nTotal 7',
    'blkio.throttle.io_serviced_recursive': '8:0 Read 1\nTotal 1',
  };
}

const statsOf = (cpu: number, memory: number) =>
  readCgroupStats({ version: 1, read: async (_path, file) => files(cpu, memory)[file] }, '/x', () => at);

const container = (name: string, id: string, state: 'running' | 'exited' = 'running') => ({
  id,
  name,
  state,
  status: { createdAt: nanoseconds, startedAt: nanoseconds + 1_000_000_000n, image: { image: 'busybox:1' } },
});

const observed = {
  uid: 'u1',
  name: 'p',
  namespace: 'd',
  sandboxes: [{ id: 'sb', state: 'ready', createdAt: nanoseconds - 1_000_000_000n }],
  containers: [container('a', 'c1'), container('b', 'c2'), container('b', 'old', 'exited')],
} as unknown as ObservedPod;

const path = '/kubepods/podu1';
const groups = podGroups(path, 'u1', ['c1', 'cri-containerd-c2.scope', 'sb', 'stranger'], observed, 'pause:3');

async function collection(): Promise<Collection> {
  const figures: [number, number][] = [
    [9e9, 900],
    [4e9, 400],
    [1e9, 100],
    [2e9, 200],
    [1e6, 8],
  ];
  const all = [plainGroup('root', '/'), ...groups];
  const samples = await Promise.all(
    all.map(async (group, i): Promise<GroupSample> => {
      const [cpu = 0, memory = 0] = figures[i] ?? [];
      const eth = {
        name: 'eth0',
        rxBytes: 1,
        rxPackets: 2,
        rxErrors: 3,
        rxDropped: 4,
        txBytes: 5,
        txPackets: 6,
        txErrors: 7,
        txDropped: 8,
      };
      return {
        ...group,
        stats: await statsOf(cpu, memory),
        processes: 2,
        cpuRate: 11,
        ...(group.kind === 'sandbox' ? { network: [eth] } : {}),
      };
    }),
  );
  return { atMs: at, samples, devices: { names: new Map([['8:0', '/dev/sda']]), counts: new Map() } };
}

const layer: ContainerStats = {
  id: 'c1',
  metadata: { name: 'a', attempt: 0 },
  labels: {},
  annotations: {},
  writableLayer: { timestamp: nanoseconds, mountpoint: '/m', usedBytes: 30, inodesUsed: 3 },
};

const space = { available: 40, capacity: 100, used: 50, inodes: 10, inodesFree: 4 };
const nothing = { bytes: 0, inodes: 0 };

function provider(more: Partial<SummaryDeps> = {}): SummaryProvider {
  return new SummaryProvider({
    nodeName: 'n',
    bootTime: 'boot',
    agentStartTime: 'agent',
    hugepageBytes: 300,
    systemContainers: new Map([
      ['kubelet', '/'],
      ['pods', '/none'],
    ]),
    collect: collection,
    collectNode: collection,
    observed: () => [observed],
    stats: { listContainerStats: async () => [layer] },
    nodeFilesystem: async () => space,
    runtimeFilesystems: async () => undefined,
    podDisk: async () => ({
      logs: new Map([['a', { bytes: 5, inodes: 1 }]]),
      podLogs: nothing,
      nodeFiles: { bytes: 4, inodes: 1 },
      volumes: [
        { stats: { name: 'v', time: iso, usedBytes: 100, inodesUsed: 9 }, ephemeral: true },
        { stats: { name: 'claim', time: iso, usedBytes: 1000 }, ephemeral: false },
      ],
    }),
    processLimits: async () => ({ maxpid: 5, curproc: 4 }),
    clock: { now: () => at },
    ...more,
  });
}

test('groups below a pod are containers and sandboxes by their ids, under either driver', () => {
  assert.deepEqual(
    groups.map((g) => [g.kind, g.container, g.id, g.image]),
    [
      ['pod', '', '', ''],
      ['container', 'a', 'c1', 'busybox:1'],
      ['container', 'b', 'c2', 'busybox:1'],
      ['sandbox', '', 'sb', 'pause:3'],
    ],
  );
  assert.equal(containerIdOf('crio-abc.scope'), 'abc');
});

test('rates: none at first, then over a window that is not too short, and none across a restart of the counter', () => {
  const rates = new CpuRates();
  assert.equal(rates.look('a', 0, 0), undefined);
  assert.equal(rates.look('a', 500, 500), undefined);
  assert.equal(rates.look('a', 1000, 1000), 1000);
  assert.equal(rates.look('a', 9000, 2000), 1000, 'too soon');
  assert.equal(rates.look('a', 11_000, 6000), 2000);
  assert.equal(rates.look('a', 5, 12_000), undefined);
  rates.keep(new Set());
  assert.equal(rates.look('a', 5, 99_000), undefined);
});

test('summary of the node alone: its own figures, and nobody is asked for a pod', async () => {
  const refuse = () => Promise.reject(new Error('asked for pods'));
  const { node, pods } = await provider({ collect: refuse, stats: { listContainerStats: refuse }, podDisk: refuse }).readNode();
  const whole = await provider().read();
  assert.deepEqual(node, whole.node);
  assert.deepEqual(pods, []);
});

test('summary: the pod’s own group, its network, its disk; huge pages are not available', async () => {
  const { node, pods } = await provider().read();
  assert.deepEqual(node.cpu, { time: iso, usageNanoCores: 11, usageCoreNanoSeconds: 9e9 });
  assert.equal(node.memory?.availableBytes, 1800 - 900 - 300);
  assert.deepEqual(node.rlimit, { time: iso, maxpid: 5, curproc: 4 });
  assert.deepEqual(node.fs, { time: iso, availableBytes: 40, capacityBytes: 100, inodesFree: 4, inodes: 10, usedBytes: 50, inodesUsed: 6 });
  assert.deepEqual(
    node.systemContainers?.map((c) => [c.name, c.startTime]),
    [['kubelet', 'agent']],
  );
  const [pod] = pods;
  assert.equal(pod?.startTime, new Date(at - 1000).toISOString());
  assert.equal(pod?.cpu?.usageCoreNanoSeconds, 4e9, 'not the sum of the containers');
  assert.deepEqual(pod?.network, {
    time: iso,
    name: 'eth0',
    rxBytes: 1,
    rxErrors: 3,
    txBytes: 5,
    txErrors: 7,
    interfaces: [{ name: 'eth0', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 }],
  });
  assert.deepEqual(pod?.process_stats, { process_count: 4 });
  assert.deepEqual(
    pod?.volume?.map((v) => v.name),
    ['v', 'claim'],
  );
  const storage = pod?.['ephemeral-storage'];
  assert.deepEqual([storage?.usedBytes, storage?.inodesUsed], [30 + 5 + 100 + 4, 3 + 1 + 9 + 1], 'a claim is not the node’s disk');
  const [a, b] = pod?.containers ?? [];
  assert.deepEqual(
    [a?.name, a?.memory?.workingSetBytes, a?.memory?.availableBytes, a?.rootfs?.usedBytes, a?.logs?.usedBytes],
    ['a', 100, 100, 30, 5],
  );
  assert.deepEqual([b?.name, b?.rootfs, b?.swap], ['b', undefined, { time: iso, swapUsageBytes: 0 }]);
});

test('summary of CPU and memory only: the runtime is asked only for what cannot be seen', async () => {
  const fails = { listContainerStats: () => Promise.reject(new Error('down')) };
  const { node, pods } = await provider({ stats: fails }).readCpuAndMemory();
  assert.deepEqual(Object.keys(node).sort(), ['cpu', 'memory', 'nodeName', 'startTime', 'swap', 'systemContainers']);
  assert.deepEqual(Object.keys(pods[0] ?? {}).sort(), ['containers', 'cpu', 'memory', 'podRef', 'startTime', 'swap']);
  await assert.rejects(provider({ stats: fails }).read());
  const unseen = async (): Promise<Collection> => ({ ...(await collection()), samples: [] });
  await assert.rejects(provider({ stats: fails, collect: unseen }).readCpuAndMemory());
  const usage = { timestamp: nanoseconds, usageCoreNanoSeconds: 3n };
  const told = { listContainerStats: async () => ['c1', 'c2'].map((id) => ({ ...layer, id, cpu: usage })) };
  const summed = await provider({ stats: told, collect: unseen }).readCpuAndMemory();
  assert.deepEqual(summed.pods[0]?.cpu, { time: iso, usageCoreNanoSeconds: 6 });
});

test('resource metrics: the node, containers that run now, their pods; a failure is told', async () => {
  const text = await resourceMetrics(() => provider().readCpuAndMemory());
  const samples = text.split('\n').filter((l) => l !== '' && !l.startsWith('#'));
  assert.deepEqual(samples, [
    `node_cpu_usage_seconds_total 9 ${at}`,
    `node_memory_working_set_bytes 900 ${at}`,
    `node_swap_usage_bytes 0 ${at}`,
    `container_cpu_usage_seconds_total{container="a",namespace="d",pod="p"} 1 ${at}`,
    `container_cpu_usage_seconds_total{container="b",namespace="d",pod="p"} 2 ${at}`,
    `container_memory_working_set_bytes{container="a",namespace="d",pod="p"} 100 ${at}`,
    `container_memory_working_set_bytes{container="b",namespace="d",pod="p"} 200 ${at}`,
    `container_swap_usage_bytes{container="a",namespace="d",pod="p"} 0 ${at}`,
    `container_swap_usage_bytes{container="b",namespace="d",pod="p"} 0 ${at}`,
    'container_start_time_seconds{container="a",namespace="d",pod="p"} 1700000000',
    'container_start_time_seconds{container="b",namespace="d",pod="p"} 1700000000',
    `pod_cpu_usage_seconds_total{namespace="d",pod="p"} 4 ${at}`,
    `pod_memory_working_set_bytes{namespace="d",pod="p"} 400 ${at}`,
    `pod_swap_usage_bytes{namespace="d",pod="p"} 0 ${at}`,
    'resource_scrape_error 0',
  ]);
  assert.equal((await resourceMetrics(() => Promise.reject(new Error('down')))).split('\n').at(-2), 'resource_scrape_error 1');
});

test('metrics of groups: each name once, six labels on every series, throttling only with a quota', async () => {
  assert.equal(new Set(groupMetrics.map((m) => m.name)).size, groupMetrics.length);
  const families = groupFamilies(await collection());
  for (const { name, samples } of families) {
    const labels = new Set(
      samples.map((s) =>
        Object.keys(s.labels ?? {})
          .sort()
          .join(','),
      ),
    );
    assert.ok(labels.size <= 1, `${name} has ${[...labels].join(' and ')}`);
    for (const label of labels) assert.match(label, /container.*id.*image.*name.*namespace.*pod/);
  }
  const of = (name: string) => families.find((f) => f.name === name)?.samples ?? [];
  assert.equal(of('container_cpu_cfs_periods_total').length, 0);
  assert.equal(of('container_spec_memory_swap_limit_bytes')[0]?.value, 0, 'no limit is 0');
  assert.deepEqual(
    of('container_network_receive_bytes_total').map((s) => [s.labels?.['name'], s.labels?.['pod'], s.labels?.['interface']]),
    [['sb', 'p', 'eth0']],
  );
  assert.equal(of('container_fs_reads_bytes_total')[0]?.labels?.['device'], '/dev/sda');
  assert.equal(of('container_start_time_seconds').find((s) => s.labels?.['container'] === 'a')?.value, 1_700_000_001);
});

test('exposition: labels are escaped, a family without samples is left out', () => {
  const text = exposition([
    { name: 'a', help: 'A', type: 'gauge', samples: [{ labels: { l: 'x"\\\n' }, value: 1 }] },
    { name: 'b', help: 'B', type: 'gauge', samples: [] },
  ]);
  assert.equal(text, '# HELP a A\n# TYPE a gauge\na{l="x\\"\\\\\\n"} 1\n');
});
