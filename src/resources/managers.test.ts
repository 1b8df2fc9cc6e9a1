import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { KillableDisk } from '../../test/support/killableDisk.ts';
import { machineOf } from '../../test/support/machineShapes.ts';
import { containersOf, guaranteedContainer, guaranteedPods, podOf } from '../../test/support/managedPods.ts';
import { turn } from '../../test/support/setReader.ts';
import { CpuSet } from '../api/cpuset.ts';
import type { Pod } from '../api/types.ts';
import { staticPolicyOptions } from '../config/cpu-policy-options.ts';
import { silentLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { CheckpointFile } from './checkpoint/file.ts';
import { CpuManager } from './cpu/manager.ts';
import { createStaticPolicy } from './cpu/static-policy.ts';
import { createManagerMetrics, type ManagerMetrics, noManagerMetrics } from './manager-metrics.ts';
import { type Placement, ResourceManagers } from './managers.ts';
import { MemoryManager } from './memory/manager.ts';
import { TopologyManager, type TopologyScope } from './topology/manager.ts';
import type { TopologyPolicy } from './topology/merge.ts';

const GiB = 2 ** 30;
/** Two sockets of two cores with two threads: CPUs 0 to 7, of which 0 is reserved. */
const topology = machineOf({
  sockets: 2,
  numaPerSocket: 1,
  socketsPerNuma: 1,
  uncoresPerNuma: 1,
  coresPerUncore: 2,
  threads: 2,
  neighbours: true,
});
const nodes = [0, 1].map((id) => ({ id, memory: 8 * GiB, hugepages: [], cores: [] }));
const reserved = new Map([[0, new Map([['memory', GiB]])]]);

interface Setup {
  policy?: TopologyPolicy;
  scope?: TopologyScope;
  isStatic?: boolean;
  options?: Record<string, string>;
  metrics?: ManagerMetrics;
}

/** One process on that machine; `active` holds the pods that are wanted. */
async function boot(
  disk: KillableDisk,
  active: Set<string>,
  { policy = 'none', scope = 'container', isStatic = true, options = {}, metrics = noManagerMetrics }: Setup = {},
) {
  const cpuPolicy = createStaticPolicy({
    topology,
    options: staticPolicyOptions(options, () => true),
    reservedCount: 1,
    reservedCpus: CpuSet.parse('0'),
    singleNumaNode: false,
  });
  const podNames = async () => new Map([['pod-0', 'default/web']]);
  const file = (name: string) => new CheckpointFile(`/${name}`, disk.files, silentLogger);
  const opening = Promise.all([
    CpuManager.open({
      policy: isStatic ? cpuPolicy : undefined,
      file: file('cpu_manager_state'),
      metrics,
      podNames,
      changed: () => undefined,
    }),
    MemoryManager.open({ machine: isStatic ? { nodes, reserved } : undefined, file: file('memory_manager_state'), metrics, podNames }),
  ]);
  // The first writes of an empty disk.
  opening.catch(() => undefined);
  for (let i = 0; i < 4; i++) await disk.settle();
  const [cpu, memory] = await opening;
  const placing = new TopologyManager({
    policy,
    scope,
    info: { nodes: [0, 1], preferClosest: false },
    providers: [cpu, memory],
    metrics,
    now: () => 0,
  });
  const managers = new ResourceManagers({
    cpu,
    memory,
    topology: placing,
    isStatic: { cpu: isStatic, memory: isStatic },
    withoutQuota: true,
    activity: { isReady: () => true, isActive: (uid) => active.has(uid) },
    log: silentLogger,
  });
  return Object.assign(managers, { cpu, settled: () => Promise.all([cpu.settled(), memory.settled()]) });
}

const cpus = fc.constantFrom('1', '1', '2', '500m');
const pods = guaranteedPods(cpus, fc.constantFrom('512Mi', '1Gi', '2Gi'), 5, 3);
const setups: fc.Arbitrary<Setup> = fc.record({
  policy: fc.constantFrom('none', 'best-effort', 'restricted', 'single-numa-node'),
  scope: fc.constantFrom('container', 'pod'),
});
type Event = { kind: 'admit' | 'start' | 'remove'; pod: number } | { kind: 'kill'; reached: boolean } | { kind: 'write'; fails: boolean };
const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('admit', 'start', 'remove'), pod: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill' as const), reached: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const), fails: fc.boolean() }) },
  ),
  { minLength: 4, maxLength: 30 },
);

test('killed at any moment, with a full disk at times: containers that run keep what they have, and nobody else gets it', async () => {
  await fc.assert(
    fc.asyncProperty(pods, setups, events, async (all, setup, story) => {
      const disk = new KillableDisk();
      const active = new Set<string>();
      let managers = await boot(disk, active, setup);
      /** What runs: by pod and container, where. */
      const running = new Map<string, { pod: Pod; placement: Placement }>();
      const admit = (pod: Pod) => {
        active.add(pod.metadata.uid);
        if (managers.admit(pod) === undefined) return;
        active.delete(pod.metadata.uid);
        for (const [key, { pod: other }] of running) if (other === pod) running.delete(key);
      };
      for (const event of story) {
        const pod = 'pod' in event ? all[event.pod % all.length] : undefined;
        if (event.kind === 'kill') {
          disk.kill(event.reached);
          managers = await boot(disk, active, setup);
          // The sources tell their pods in whatever order.
          for (const wanted of all.toReversed()) if (active.has(wanted.metadata.uid)) admit(wanted);
        } else if (event.kind === 'write') {
          await disk.settle(event.fails);
        } else if (pod === undefined) {
          continue;
        } else if (event.kind === 'admit' && !active.has(pod.metadata.uid)) {
          admit(pod);
        } else if (event.kind === 'start' && active.has(pod.metadata.uid)) {
          const process = managers;
          for (const container of pod.spec.containers) {
            // It runs as soon as its place is known, unless the process is gone by then.
            const start = (placement: Placement) => {
              if (process === managers && active.has(pod.metadata.uid))
                running.set(`${pod.metadata.uid} ${container.name}`, { pod, placement });
            };
            managers.placement(pod, container).then(start, () => undefined);
          }
          await turn();
        } else if (event.kind === 'remove') {
          for (const [key, { pod: other }] of running) if (other === pod) running.delete(key);
          active.delete(pod.metadata.uid);
        }
        const owned = new Map<number, string>();
        for (const [key, { pod: holder, placement }] of running) {
          if (!placement.exclusiveCpus) continue;
          const container = holder.spec.containers.find((c) => key.endsWith(` ${c.name}`));
          assert.ok(container !== undefined && managers.hasExclusiveCpus(holder, container), `${key} is still known`);
          assert.equal(managers.cpu.cpusOf(holder.metadata.uid, container.name)?.toString(), placement.cpusetCpus, key);
          for (const cpu of CpuSet.parse(placement.cpusetCpus ?? '')) {
            assert.equal(owned.get(cpu), undefined, `CPU ${cpu} of ${key}`);
            owned.set(cpu, key);
          }
        }
      }
      active.clear();
      managers.collect();
      const ended = managers.settled();
      await disk.settle();
      await ended;
      const left = JSON.parse(disk.texts.get('/cpu_manager_state') ?? '{}') as { defaultCpuSet?: string; entries?: object };
      assert.deepEqual([left.defaultCpuSet, left.entries], ['0-7', undefined]);
      assert.equal((JSON.parse(disk.texts.get('/memory_manager_state') ?? '{}') as { entries?: object }).entries, undefined);
    }),
    { numRuns: 150 },
  );
});

test('single-numa-node keeps CPUs and memory of a container together, or refuses with the reason', async () => {
  const disk = new KillableDisk();
  const active = new Set(['pod-0', 'pod-1']);
  const metrics = createMetrics();
  const managers = await boot(disk, active, { policy: 'single-numa-node', metrics: createManagerMetrics(metrics) });
  const pod = podOf('pod-0', [guaranteedContainer('c', '4', '2Gi')]);
  assert.equal(managers.admit(pod), undefined);
  const placed = managers.placement(pod, guaranteedContainer('c', '4', '2Gi'));
  await disk.settle();
  assert.deepEqual(await placed, { cpusetCpus: '4-7', cpusetMems: '1', exclusiveCpus: true });
  assert.deepEqual(managers.admit(podOf('pod-1', [guaranteedContainer('c', '4', '1Gi')])), {
    reason: 'TopologyAffinityError',
    message: 'Resources cannot be allocated with Topology locality',
  });
  const text = await metrics.text();
  assert.match(text, /^kubelet_topology_manager_admission_requests_total 2$/m);
  assert.match(text, /^kubelet_topology_manager_admission_errors_total 1$/m);
  assert.match(text, /^kubelet_container_aligned_compute_resources_count\{scope="container",boundary="numa_node"\} 1$/m);
  assert.match(text, /^kubelet_container_aligned_compute_resources_failure_count\{scope="container",boundary="numa_node"\} 1$/m);
  assert.match(text, /^kubelet_cpu_manager_allocation_per_numa\{numa_node="1"\} 4$/m);
  assert.match(text, /^kubelet_memory_manager_pinning_requests_total 1$/m);
});

test('scope pod places all containers of a pod on the nodes that suffice for them together', async () => {
  const disk = new KillableDisk();
  const managers = await boot(disk, new Set(['pod-0']), { policy: 'best-effort', scope: 'pod' });
  const pod = podOf('pod-0', [guaranteedContainer('a', '2'), guaranteedContainer('b', '2')]);
  assert.equal(managers.admit(pod), undefined);
  const placed = Promise.all(containersOf(pod).map((c) => managers.placement(pod, c)));
  await disk.settle();
  assert.deepEqual(
    (await placed).map((p) => [p.cpusetCpus, p.cpusetMems]),
    [
      ['4-5', '1'],
      ['6-7', '1'],
    ],
  );
});

test("what cannot be given is refused with the contract's words, and nothing of the pod is kept", async () => {
  const disk = new KillableDisk();
  const managers = await boot(disk, new Set(['pod-0']), { options: { 'full-pcpus-only': 'true' } });
  assert.deepEqual(managers.admit(podOf('pod-0', [guaranteedContainer('a', '2'), guaranteedContainer('b', '3')])), {
    reason: 'SMTAlignmentError',
    message: 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  });
  assert.deepEqual(managers.admit(podOf('pod-0', [guaranteedContainer('a', '2', '60Gi')])), {
    reason: 'UnexpectedAdmissionError',
    message:
      'Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected',
  });
  assert.equal(managers.podHasExclusiveCpus(podOf('pod-0', [guaranteedContainer('a', '2')])), false);
  await disk.settle();
  assert.match(disk.texts.get('/cpu_manager_state') ?? '', /"defaultCpuSet":"0-7","checksum"/);
});

test('a pod that came back under its old UID gets its CPUs when its container is made', async () => {
  const disk = new KillableDisk();
  const managers = await boot(disk, new Set(['pod-0']));
  const placed = managers.placement(podOf('pod-0', [guaranteedContainer('c', '2')]), guaranteedContainer('c', '2'));
  await disk.settle();
  assert.deepEqual(await placed, { cpusetCpus: '2-3', cpusetMems: '0', exclusiveCpus: true });
});

test('under the policies none nothing is held to anything, and another policy is refused with the pods that stand in its way', async () => {
  const disk = new KillableDisk();
  const pod = podOf('pod-0', [guaranteedContainer('c', '2')]);
  const free = await boot(disk, new Set(), { isStatic: false });
  assert.equal(free.admit(pod), undefined);
  assert.deepEqual(await free.placement(pod, guaranteedContainer('c', '2')), { exclusiveCpus: false });
  await assert.rejects(
    boot(disk, new Set()),
    /configured policy "static" differs from state checkpoint policy "none"; no pod owns CPUs; please drain/,
  );
  disk.texts.clear();
  const held = await boot(disk, new Set(['pod-0']));
  assert.equal(held.admit(pod), undefined);
  await disk.settle();
  await assert.rejects(
    boot(disk, new Set(), { isStatic: false }),
    /configured policy "none" differs from state checkpoint policy "static"; these pods own CPUs: default\/web pod-0 \(container c: 2-3\)/,
  );
});
