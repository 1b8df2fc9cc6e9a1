import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { bomb, chatter, emptyDir, fill, growTo, hold, mountedAt, shell } from './pods.ts';
import { conditionOf, type Evicted, memorySettings, NodeName, PodsMiB, type PressureWorld, ThresholdMiB } from './world.ts';

export interface Scenario {
  name: string;
  /** Also part of `npm test`. */
  short?: true;
  run(world: PressureWorld): Promise<void>;
}

const names = (evicted: readonly Evicted[]) => evicted.map(({ name }) => name);
const Steady = { requests: { cpu: '10m', memory: '60Mi' }, limits: { cpu: '500m', memory: '60Mi' } };
type ContainerStatus = { restartCount: number; state: { terminated?: { reason: string; exitCode: number } } };

const firstContainer = async (world: PressureWorld, name: string) =>
  ((await world.pod(name))?.status?.['containerStatuses'] as ContainerStatus[] | undefined)?.[0];

/** The pod runs, and none of its containers was ever started again. */
async function assertUntouched(world: PressureWorld, name: string): Promise<void> {
  assert.equal(conditionOf(await world.pod(name), 'Ready'), 'True', `pod ${name} is to be left alone`);
  assert.equal((await firstContainer(world, name))?.restartCount, 0);
}

async function startSteady(world: PressureWorld): Promise<void> {
  await world.create('guaranteed', { containers: [shell(hold(30), Steady)] });
  await world.create('burstable', { containers: [shell(hold(20), { requests: { memory: '60Mi' } })] });
  await world.untilReady('guaranteed', 'burstable');
}

/** A pod that the node is to refuse for its pressure. */
async function assertRefused(world: PressureWorld, name: string, pressure: string, resources = {}): Promise<void> {
  await world.create(name, { tolerations: [{ operator: 'Exists' }], containers: [shell('sleep 3600', resources)] });
  const pod = await world.cluster.until(`pod ${name} to be refused`, async () => {
    const found = await world.pod(name);
    return found?.status?.['phase'] === 'Failed' && found;
  });
  assert.equal(pod.status?.['reason'], 'Evicted');
  assert.equal(pod.status?.['message'], `Pod was rejected: The node had condition: [${pressure}]. `);
}

const MemoryMessage =
  /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: [0-9]+Ki\. Container c was using [0-9]+Ki, request is /;

async function memoryHog(world: PressureWorld, hog: string, resources: Record<string, unknown>): Promise<void> {
  await startSteady(world);
  await world.create(hog, { containers: [shell(growTo(300), resources)] });
  const [first, ...more] = await world.evictions(1);
  assert.equal(first?.name, hog);
  assert.deepEqual(names(more), []);
  assert.equal(first.reason, 'Evicted');
  assert.match(first.message, MemoryMessage);
  assert.equal(first.disruption, true);
  await assertUntouched(world, 'guaranteed');
  await assertUntouched(world, 'burstable');
}

const memoryBestEffort: Scenario = {
  name: 'memory: a hog without requests goes, those within their requests stay; the node shows it and refuses others like it',
  short: true,
  async run(world) {
    await memoryHog(world, 'hog-besteffort', {});
    await world.untilPressure('MemoryPressure', 'True');
    // Memory pressure alone keeps out only pods without requests that do not tolerate it.
    await world.create('late-besteffort', { containers: [shell('sleep 3600')] });
    await world.create('late-burstable', { containers: [shell('sleep 3600', { requests: { cpu: '1m' } })] });
    await world.cluster.until(
      'the late pod to be refused',
      async () => (await world.pod('late-besteffort'))?.status?.['phase'] === 'Failed',
    );
    const refused = (await world.pod('late-besteffort'))?.status;
    assert.equal(refused?.['message'], 'Pod was rejected: The node had condition: [MemoryPressure]. ');
    await world.untilReady('late-burstable');
    assert.ok((await world.eventReasons('Pod', 'hog-besteffort')).includes('Evicted'));
    for (const reason of ['EvictionThresholdMet', 'NodeHasInsufficientMemory']) {
      await world.cluster.until(`the event ${reason}`, async () => (await world.eventReasons('Node', NodeName)).includes(reason));
    }
    assert.match(await world.metrics(), /^kubelet_evictions\{eviction_signal="allocatableMemory\.available"\} 1$/m);
    await world.untilPressure('MemoryPressure', 'False');
  },
};

const memoryBurstable: Scenario = {
  name: 'memory: a hog above its request goes before those within theirs',
  async run(world) {
    await memoryHog(world, 'hog-burstable', { requests: { memory: '30Mi' } });
    await world.untilPressure('MemoryPressure', 'False');
  },
};

const memoryGuaranteed: Scenario = {
  name: 'memory: a hog above its own limit loses a child to the kernel, which is told; nobody is evicted',
  async run(world) {
    await startSteady(world);
    await world.create('hog-guaranteed', { containers: [shell(growTo(300), { requests: Steady.limits, limits: Steady.limits })] });
    // The shell of the container lives on: it is its child that grew.
    const isTold = async () => (await world.eventReasons('Pod', 'hog-guaranteed')).includes('OOMKilling');
    await world.cluster.until('the event of it', isTold);
    assert.deepEqual(names(await world.evictions(1, { timeoutMs: 5_000 })), []);
    assert.match(await world.metrics(), /^kts_container_oom_kills_total\{namespace="default",pod="hog-guaranteed",container="c"\} [1-9]/m);
    await assertUntouched(world, 'guaranteed');
    await assertUntouched(world, 'burstable');
  },
};

const preemption: Scenario = {
  name: 'preemption: a critical pod without room has the cheapest other stopped for it',
  short: true,
  async run(world) {
    await world.create('filler', { containers: [shell('sleep 3600', { requests: { memory: '150Mi' } })] });
    await world.create('small', { containers: [shell('sleep 3600', { requests: { memory: '40Mi' } })] });
    await world.untilReady('filler', 'small');
    await world.create(
      'critical',
      { priorityClassName: 'system-node-critical', containers: [shell('sleep 3600', { requests: { memory: '200Mi' } })] },
      'kube-system',
    );
    const [first, ...more] = await world.evictions(1);
    assert.deepEqual([first?.name, first?.reason, first?.disruption], ['filler', 'Preempting', true]);
    assert.deepEqual(names(more), []);
    assert.equal(first?.message, 'Preempted in order to admit critical pod');
    await world.cluster.until(
      'the critical pod to run',
      async () => conditionOf(await world.pod('critical', 'kube-system'), 'Ready') === 'True',
    );
    await assertUntouched(world, 'small');
    assert.match(await world.metrics(), /^kubelet_preemptions\{preemption_signal="memory"\} 1$/m);
  },
};

const limits: Scenario = {
  name: 'limits of the disk: emptyDir, writable layer and logs, each by its own limit, without any pressure',
  short: true,
  async run(world) {
    const storage = (limit: string) => ({ limits: { 'ephemeral-storage': limit } });
    const other = shell('sleep 3600', storage('100Mi'), {}, 'other');
    await world.create('in-volume', { volumes: emptyDir('10Mi'), containers: [shell(fill('/v/file', 20), {}, mountedAt('/v'))] });
    await world.create('in-layer', { containers: [shell(fill('/file', 20), storage('10Mi'))] });
    await world.create('in-log', { containers: [shell(chatter(8), storage('4Mi')), other] });
    await world.create('within', { volumes: emptyDir('10Mi'), containers: [shell(fill('/v/file', 5), storage('10Mi'), mountedAt('/v'))] });
    const evicted = new Map((await world.evictions(3, { timeoutMs: 90_000 })).map((e) => [e.name, e]));
    assert.deepEqual([...evicted.keys()].sort(), ['in-layer', 'in-log', 'in-volume']);
    assert.equal(evicted.get('in-volume')?.message, 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". ');
    assert.equal(evicted.get('in-layer')?.message, 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ');
    assert.equal(evicted.get('in-log')?.message, 'Container c exceeded its local ephemeral storage limit "4Mi". ');
    assert.deepEqual(
      [...evicted.values()].filter(({ disruption }) => disruption),
      [],
    );
    await assertUntouched(world, 'within');
    assert.equal(conditionOf(await world.node.get(), 'DiskPressure'), 'False');
  },
};

const disk: Scenario = {
  name: 'disk: the pod that fills it goes, after what no pod needs; nobody else is let in',
  async run(world) {
    await world.create('small', { volumes: emptyDir(), containers: [shell(fill('/v/file', 20), {}, mountedAt('/v'))] });
    await world.create('dead', { containers: [shell('exit 0')] });
    await world.untilReady('small');
    await world.create('filler', { volumes: emptyDir(), containers: [shell(fill('/v/file', 600), {}, mountedAt('/v'))] });
    const [first, ...more] = await world.evictions(1, { timeoutMs: 90_000 });
    assert.equal(first?.name, 'filler');
    assert.deepEqual(names(more), []);
    assert.match(first.message, /^The node was low on resource: ephemeral-storage\. Threshold quantity: 100Mi, available: [0-9]+Ki\. /);
    await assertUntouched(world, 'small');
    const log = await world.node.agent.log();
    const reclaimed = log.indexOf('what="unused images"');
    assert.ok(reclaimed > 0 && reclaimed < log.indexOf('pod is evicted successfully" pod="default/filler"'), 'reclaims before it evicts');
    await world.untilPressure('DiskPressure', 'True');
    await assertRefused(world, 'late', 'DiskPressure', { requests: { cpu: '1m' } });
    await world.untilPressure('DiskPressure', 'False');
  },
};

async function freeProcesses(): Promise<number> {
  const number = async (path: string) => Number((await readFile(path, 'utf8')).trim());
  const most = Math.min(await number('/proc/sys/kernel/pid_max'), await number('/proc/sys/kernel/threads-max'));
  return most - Number((await readFile('/proc/loadavg', 'utf8')).split(' ')[3]?.split('/')[1]);
}

const processes: Scenario = {
  name: 'processes: a fork bomb is held by podPidsLimit; where that allows too many, it goes',
  async run(world) {
    await world.restart({ ...(await memorySettings(4096)), podPidsLimit: 300 });
    await world.create('quiet', { containers: [shell('sleep 3600')] });
    await world.untilReady('quiet');
    await world.create('bomb-held', { containers: [shell(bomb(3000))] });
    await world.cluster.until(
      'the bomb to end',
      async () => (await firstContainer(world, 'bomb-held'))?.state.terminated ?? (await isFull(world, 'bomb-held')),
    );
    assert.deepEqual(names(await world.evictions(1, { timeoutMs: 3_000 })), []);
    await assertUntouched(world, 'quiet');
    await world.clear();
    const threshold = (await freeProcesses()) - 1_200;
    await world.restart({
      podPidsLimit: 2_600,
      evictionHard: { 'memory.available': `${ThresholdMiB}Mi`, 'pid.available': String(threshold) },
    });
    await world.create('quiet', { containers: [shell('sleep 3600')] });
    await world.untilReady('quiet');
    await world.create('bomb', { containers: [shell(bomb(2_500))] });
    const [first, ...more] = await world.evictions(1);
    assert.equal(first?.name, 'bomb');
    assert.deepEqual(names(more), []);
    assert.match(first.message, /^The node was low on resource: pids\. Threshold quantity: [0-9k]+, available: [0-9k]+\. $/);
    await world.untilPressure('PIDPressure', 'True');
    await assertUntouched(world, 'quiet');
    await world.restart({
      ...(await memorySettings(PodsMiB)),
      podPidsLimit: 4_096,
      evictionHard: { 'memory.available': `${ThresholdMiB}Mi` },
    });
  },
};

/** The pod has as many tasks as it may. */
async function isFull(world: PressureWorld, name: string): Promise<boolean> {
  const uid = (await world.pod(name))?.metadata.uid;
  const file = `/sys/fs/cgroup/pids${world.containerd.cgroupRoot}/kubepods/besteffort/pod${uid}/pids.current`;
  return Number(await readFile(file, 'utf8').catch(() => '0')) >= 300;
}

const runaway: Scenario = {
  name: 'a container that moves itself to another control group: it is still stopped, and the agent goes on',
  async run(world) {
    const group = `/sys/fs/cgroup/memory${world.containerd.cgroupRoot}/escaped`;
    const script = `mkdir -p /groups/escaped; echo 0 > /groups/escaped/cgroup.procs; sleep 3600`;
    await world.create('runaway', {
      volumes: [{ name: 'v', hostPath: { path: `/sys/fs/cgroup/memory${world.containerd.cgroupRoot}`, type: 'Directory' } }],
      containers: [shell(script, {}, { ...mountedAt('/groups'), securityContext: { privileged: true } })],
    });
    await world.untilReady('runaway');
    const pids = () => readFile(`${group}/cgroup.procs`, 'utf8').catch(() => '');
    await world.cluster.until('the container to be elsewhere', async () => (await pids()).trim() !== '');
    // Two looks of the eviction manager at a pod whose figures are not where they should be.
    await sleep(21_000);
    assert.equal(conditionOf(await world.pod('runaway'), 'Ready'), 'True');
    await world.clear();
    assert.equal((await pids()).trim(), '', 'its processes are gone');
    assert.equal(await world.node.agent.healthy(), true);
  },
};

/** In this order: the agent is started anew for some. */
export const scenarios: readonly Scenario[] = [
  memoryBestEffort,
  preemption,
  limits,
  memoryBurstable,
  memoryGuaranteed,
  disk,
  runaway,
  processes,
];
