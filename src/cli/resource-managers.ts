import { posix } from 'node:path';
import type { AdmissionVerdict } from '../admission/chain.ts';
import { podUid } from '../api/brands.ts';
import { bareContainerId } from '../api/container-id.ts';
import { CpuSet } from '../api/cpuset.ts';
import type { Resources } from '../api/resources.ts';
import type { Pod } from '../api/types.ts';
import { staticPolicyOptions } from '../config/cpu-policy-options.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import { DEFAULT_MAX_NUMA_NODES, topologyPolicyOptions } from '../config/topology-policy-options.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { type NumaNode, readNumaNodes } from '../host/numa.ts';
import type { Kubelet } from '../kubelet.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Service } from '../observe/service.ts';
import { CheckpointFile } from '../resources/checkpoint/file.ts';
import { cpuTopologyOf } from '../resources/cpu/discover.ts';
import { CpuManager } from '../resources/cpu/manager.ts';
import { CpuReconcile, type RunningContainer } from '../resources/cpu/reconcile.ts';
import { createStaticPolicy, type StaticPolicy, StaticPolicyError } from '../resources/cpu/static-policy.ts';
import { createManagerMetrics } from '../resources/manager-metrics.ts';
import { ResourceManagers } from '../resources/managers.ts';
import { MemoryManager, type StaticMemory } from '../resources/memory/manager.ts';
import { reservedByNode } from '../resources/memory/reserved.ts';
import { reservedCpuCount } from '../resources/reservations.ts';
import { TopologyManager } from '../resources/topology/manager.ts';
import type { NumaInfo, TopologyPolicy } from '../resources/topology/merge.ts';

export interface ResourceManagersInput {
  config: ResolvedConfig;
  rootDir: string;
  /** All that is kept from pods, by resource. */
  reservation: Resources;
  runtime: CriRuntime;
  files: Files;
  clock: Clock;
  log: Logger;
  registry: Metrics;
  /** The agent; asked only after its start. */
  kubelet(): Kubelet;
}

export interface OpenManagers {
  managers: ResourceManagers;
  services: Service[];
}

const ROOT_DIR_MODE = 0o750;
/** A shorter reconcile period would keep a CPU busy with looking. */
const LEAST_PERIOD_MS = 100;
/** Gates that are off by default and change what the managers do. */
const NotYet = ['PodLevelResourceManagers', 'InPlacePodVerticalScalingExclusiveCPUs', 'InPlacePodVerticalScalingExclusiveMemory'];

/** Opens the CPU, memory and topology managers with their checkpoints. Rejects with what stops the start: see contract node.md §5 and §6. */
export async function openResourceManagers(input: ResourceManagersInput): Promise<OpenManagers> {
  const { config, rootDir, runtime, files, clock, log, kubelet } = input;
  const metrics = createManagerMetrics(input.registry);
  const isStatic = { cpu: config.cpuManagerPolicy === 'static', memory: config.memoryManagerPolicy === 'Static' };
  const topologyPolicy = config.topologyManagerPolicy as TopologyPolicy;
  for (const gate of NotYet) if (config.gates.enabled(gate)) log.warn('The resource managers do not know this feature gate yet', { gate });
  // Nothing of the machine is read that no policy asks for.
  const machine = isStatic.cpu || isStatic.memory || topologyPolicy !== 'none' ? await readNumaNodes() : [];
  const info = numaInfo(config, topologyPolicy, machine, log);
  await files.mkdir(rootDir, ROOT_DIR_MODE);
  const shared = { metrics, podNames: () => podNames(runtime) };
  const checkpoint = (name: string) => new CheckpointFile(posix.join(rootDir, name), files, log);
  const cpu = await CpuManager.open({
    ...shared,
    policy: isStatic.cpu ? staticCpuPolicy(input, topologyPolicy, machine) : undefined,
    file: checkpoint('cpu_manager_state'),
    changed: () => reconcile.poke(),
  });
  const memory = await MemoryManager.open({
    ...shared,
    machine: isStatic.memory ? staticMemory(input, machine) : undefined,
    file: checkpoint('memory_manager_state'),
  });
  const topology = new TopologyManager({
    policy: topologyPolicy,
    scope: config.topologyManagerScope === 'pod' ? 'pod' : 'container',
    info,
    providers: [cpu, memory],
    metrics,
    now: () => clock.monotonic(),
  });
  const withoutQuota = config.gates.enabled('DisableCPUQuotaWithExclusiveCPUs');
  const activity = { isReady: () => kubelet().store.ready, isActive: (uid: string) => isActive(kubelet(), uid) };
  const managers = new ResourceManagers({ cpu, memory, topology, isStatic, withoutQuota, activity, log });
  const reconcile = new CpuReconcile({
    runtime,
    clock,
    log,
    periodMs: Math.max(LEAST_PERIOD_MS, config.cpuManagerReconcilePeriodMs),
    running: () => runningContainers(kubelet().pods()),
    collect: () => managers.collect(),
    cpusOf: (uid, name) => cpu.cpusOf(uid, name),
  });
  return { managers, services: isStatic.cpu || isStatic.memory ? [reconcile] : [] };
}

/** An admission that takes back what the managers gave to a pod which another check refuses. */
export function guarded(
  managers: Pick<ResourceManagers, 'release'>,
  admit: (pod: Pod, others: readonly Pod[]) => AdmissionVerdict,
): (pod: Pod, others: readonly Pod[]) => AdmissionVerdict {
  return (pod, others) => {
    const verdict = admit(pod, others);
    if (verdict !== undefined && !('preempt' in verdict)) managers.release(pod.metadata.uid);
    return verdict;
  };
}

function staticCpuPolicy(
  { config, reservation }: ResourceManagersInput,
  topologyPolicy: TopologyPolicy,
  machine: readonly NumaNode[],
): StaticPolicy {
  const reservedCount = reservedCpuCount(reservation);
  if (reservedCount === 0) {
    throw new StaticPolicyError(
      'some CPU must be reserved for the system; set reservedSystemCPUs, or cpu in systemReserved or kubeReserved',
    );
  }
  return createStaticPolicy({
    topology: cpuTopologyOf(machine),
    options: staticPolicyOptions(config.cpuManagerPolicyOptions, (gate) => config.gates.enabled(gate)),
    reservedCount,
    reservedCpus: CpuSet.parse(config.reservedSystemCPUs),
    singleNumaNode: topologyPolicy === 'single-numa-node',
  });
}

function staticMemory({ config, reservation }: ResourceManagersInput, nodes: readonly NumaNode[]): StaticMemory {
  const ids = nodes.map((node) => node.id);
  return { nodes, reserved: reservedByNode(config.reservedMemory, ids, reservation) };
}

function numaInfo(config: ResolvedConfig, policy: TopologyPolicy, machine: readonly NumaNode[], log: Logger): NumaInfo {
  const nodes = machine.map((node) => node.id);
  if (policy === 'none') return { nodes, preferClosest: false };
  const { preferClosest, maxAllowableNumaNodes: most } = topologyPolicyOptions(config.topologyManagerPolicyOptions);
  if (most > DEFAULT_MAX_NUMA_NODES) {
    log.warn('Placing pods takes twice as long for each NUMA node more', {
      field: 'topologyManagerPolicyOptions[max-allowable-numa-nodes]',
      value: most,
    });
  }
  if (nodes.length > most) {
    throw new Error(
      `topologyManagerPolicy ${policy}: this machine has ${nodes.length} NUMA nodes, more than ${most}; use the policy none, or raise ` +
        'topologyManagerPolicyOptions[max-allowable-numa-nodes]',
    );
  }
  const distances = new Map(
    machine.flatMap((node) => (node.distances === undefined ? [] : [[node.id, byId(nodes, node.distances)] as const])),
  );
  if (preferClosest && distances.size < nodes.length) {
    throw new Error(
      'topologyManagerPolicyOptions[prefer-closest-numa-nodes]: the kernel does not tell how far NUMA nodes are from each other',
    );
  }
  return { nodes, preferClosest, distances };
}

/** The kernel lists distances in the order of the nodes that are online; their ids may have gaps. */
function byId(nodes: readonly number[], distances: readonly number[]): number[] {
  const row: number[] = [];
  for (const [i, id] of nodes.entries()) row[id] = distances[i] ?? 0;
  return row;
}

/** Containers run or may come to run: the pod is wanted and not over, or it is being stopped. */
function isActive({ dispatcher, store }: Kubelet, uid: string): boolean {
  const phase = dispatcher.state(podUid(uid))?.phase;
  return phase === undefined ? store.has(podUid(uid)) : phase === 'sync' || phase === 'terminating';
}

function runningContainers(pods: readonly Pod[]): RunningContainer[] {
  const statuses = ({ status }: Pod) => [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return pods.flatMap((pod) =>
    statuses(pod).flatMap(({ name, state, containerID }) =>
      state?.running && containerID ? [{ podUid: pod.metadata.uid, name, id: bareContainerId(containerID) }] : [],
    ),
  );
}

/** What the runtime calls the pods that it has: a checkpoint knows UIDs only. */
async function podNames(runtime: Pick<CriRuntime, 'listPodSandbox'>): Promise<Map<string, string>> {
  const sandboxes = await runtime.listPodSandbox();
  return new Map(sandboxes.map(({ metadata }) => [metadata.uid, `${metadata.namespace}/${metadata.name}`]));
}
