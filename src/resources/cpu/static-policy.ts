import { CpuSet } from '../../api/cpuset.ts';
import { isSidecar } from '../../api/restart.ts';
import type { Container, Pod } from '../../api/types.ts';
import type { StaticPolicyOptions } from '../../config/cpu-policy-options.ts';
import { assigned, withAssignment, withoutAssignment } from '../assignments.ts';
import { type ProviderHints, ResourceAdmissionError, type TopologyHint } from '../topology/hint.ts';
import { type NumaMask, numaNodes } from '../topology/numa-mask.ts';
import { guaranteedCpus, managedContainers, podGuaranteedCpus } from './guaranteed.ts';
import { cpuHints } from './hints.ts';
import type { CpuState } from './state.ts';
import { takeDistributed } from './take-distributed.ts';
import { NotEnoughCpusError, takePacked } from './take-packed.ts';
import type { CpuTopology } from './topology.ts';

/** The static policy on one machine: plain functions from state to state. Source: contract node.md §5, vectors cpu-static-policy. */
export interface StaticPolicy {
  topology: CpuTopology;
  options: StaticPolicyOptions;
  /** Never given to one container alone. */
  reserved: CpuSet;
  /** The reserved ones and the others of their cores. */
  reservedCores: CpuSet;
}

/** The static policy cannot work with this configuration on this machine. */
export class StaticPolicyError extends Error {
  readonly code = 'static-policy';
  constructor(message: string) {
    super(`cpuManagerPolicy static: ${message}`);
    this.name = 'StaticPolicyError';
  }
}

export interface StaticPolicyInput {
  topology: CpuTopology;
  options: StaticPolicyOptions;
  /** Whole CPUs, rounded up from what is reserved. */
  reservedCount: number;
  /** reservedSystemCPUs; empty lets the policy choose. */
  reservedCpus: CpuSet;
  /** The topology manager holds every container to one NUMA node. */
  singleNumaNode: boolean;
}

/** Throws StaticPolicyError. */
export function createStaticPolicy({ topology, options, reservedCount, reservedCpus, singleNumaNode }: StaticPolicyInput): StaticPolicy {
  if (options.alignBySocket && singleNumaNode) {
    throw new StaticPolicyError('the option align-by-socket cannot be used with topologyManagerPolicy single-numa-node');
  }
  if (options.alignBySocket && topology.ids('socket').length > topology.ids('numa').length) {
    throw new StaticPolicyError('the option align-by-socket cannot be used on a machine with more sockets than NUMA nodes');
  }
  const reserved = reservedCpus.isEmpty ? chooseReserved(topology, options, reservedCount) : reservedCpus;
  if (reserved.size !== reservedCount) {
    throw new StaticPolicyError(`reservedSystemCPUs names ${reserved.size} CPUs (${reserved}), but ${reservedCount} are to be reserved`);
  }
  const unknown = reserved.difference(topology.cpus);
  if (!unknown.isEmpty)
    throw new StaticPolicyError(`reservedSystemCPUs names CPUs that are not online: ${unknown}; online are ${topology.cpus}`);
  const cores = [...reserved].flatMap((cpu) => topology.place(cpu)?.core ?? []);
  return { topology, options, reserved, reservedCores: topology.cpusInAny('core', cores) };
}

function chooseReserved(topology: CpuTopology, options: StaticPolicyOptions, count: number): CpuSet {
  try {
    return takeCpus({ topology, options }, topology.cpus, count);
  } catch (err) {
    if (!(err instanceof NotEnoughCpusError)) throw err;
    throw new StaticPolicyError(
      `${count} CPUs are to be reserved, but the machine has ${topology.cpus.size}; lower systemReserved.cpu or kubeReserved.cpu`,
    );
  }
}

function takeCpus({ topology, options }: Pick<StaticPolicy, 'topology' | 'options'>, available: CpuSet, count: number): CpuSet {
  const strategy = options.distributeAcrossCores ? 'spread' : 'packed';
  if (!options.distributeAcrossNuma) return takePacked(topology, available, count, { strategy, preferUncore: options.preferUncoreCache });
  const groupSize = options.fullPhysicalCpusOnly ? Math.max(1, topology.cpusPer('core')) : 1;
  return takeDistributed(topology, available, count, { strategy, groupSize, alignBySocket: options.alignBySocket });
}

/** All CPUs that containers may own. */
export function allocatableCpus(policy: StaticPolicy): CpuSet {
  return policy.topology.cpus.difference(policy.reserved);
}

/** CPUs of the shared pool that a container may still come to own. */
export function availableCpus(policy: StaticPolicy, state: CpuState): CpuSet {
  return state.defaultSet.difference(policy.reserved);
}

/** What containers that own nothing run on, on a machine where nothing is owned. */
function wholePool({ topology, options, reserved }: StaticPolicy): CpuSet {
  return options.strictReservation ? topology.cpus.difference(reserved) : topology.cpus;
}

/**
 * The state to begin with: a new one is filled, one from a checkpoint must fit the machine and the configuration. Throws StaticPolicyError
 * that says what does not.
 */
export function startState(policy: StaticPolicy, state: CpuState): CpuState {
  const { options, reserved } = policy;
  const { defaultSet, assignments } = state;
  const pool = wholePool(policy);
  if (defaultSet.isEmpty && assignments.size === 0) return { ...state, defaultSet: pool };
  // With a strict reservation containers may come to own all that is not reserved.
  if (defaultSet.isEmpty && !options.strictReservation) throw new StaticPolicyError('the checkpoint has assignments but no shared pool');
  if (options.strictReservation && !reserved.intersection(defaultSet).isEmpty) {
    throw new StaticPolicyError(
      `of the strictly reserved CPUs ${reserved}, the checkpoint's shared pool ${defaultSet} has ${reserved.intersection(defaultSet)}`,
    );
  }
  if (!options.strictReservation && !reserved.isSubsetOf(defaultSet)) {
    throw new StaticPolicyError(`the reserved CPUs ${reserved} are not all in the checkpoint's shared pool ${defaultSet}`);
  }
  let known = defaultSet;
  for (const [uid, containers] of assignments) {
    for (const [container, cpus] of containers) {
      if (!cpus.intersection(defaultSet).isEmpty) {
        throw new StaticPolicyError(
          `the CPUs ${cpus} of container ${container} of pod ${uid} overlap with the checkpoint's shared pool ${defaultSet}`,
        );
      }
      known = known.union(cpus);
    }
  }
  if (!known.equals(pool)) throw new StaticPolicyError(`the machine has the CPUs ${pool}, the checkpoint knows ${known}`);
  return state;
}

export interface CpuAllocation {
  state: CpuState;
  /** Undefined: the container runs in the shared pool. */
  cpus: CpuSet | undefined;
  /** Newly taken, and not found in the state. */
  isNew: boolean;
}

/** Gives a container its CPUs, those near `affinity` first. Throws ResourceAdmissionError or NotEnoughCpusError. */
export function allocateCpus(
  policy: StaticPolicy,
  state: CpuState,
  pod: Pod,
  container: Container,
  affinity: NumaMask | undefined,
): CpuAllocation {
  const count = guaranteedCpus(pod, container);
  if (count === 0) return { state, cpus: undefined, isNew: false };
  const { uid } = pod.metadata;
  // What a container has it keeps, also where a changed configuration would not give it out so any more.
  const has = assigned(state, uid, container.name);
  if (has !== undefined) return { state, cpus: has, isNew: false };
  requireWholeCores(policy, state, count);
  const available = availableCpus(policy, state).union(reusableCpus(state, pod));
  const near = affinity === undefined ? CpuSet.empty : nearCpus(policy, available, affinity);
  const first = takeCpus(policy, near, Math.min(near.size, count));
  const cpus = first.union(takeCpus(policy, available.difference(first), count - first.size));
  return {
    state: withAssignment({ ...state, defaultSet: state.defaultSet.difference(cpus) }, uid, container.name, cpus),
    cpus,
    isNew: true,
  };
}

function requireWholeCores({ options, topology, reservedCores }: StaticPolicy, state: CpuState, count: number): void {
  if (!options.fullPhysicalCpusOnly) return;
  const perCore = Math.max(1, topology.cpusPer('core'));
  const refuse = (why: string) => new ResourceAdmissionError('SMTAlignmentError', `SMT Alignment Error: ${why}`);
  if (count % perCore !== 0) throw refuse(`requested ${count} cpus not multiple cpus per core = ${perCore}`);
  const free = state.defaultSet.difference(reservedCores).size;
  if (count > free) {
    throw refuse(`not enough free physical CPUs: available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${perCore}`);
  }
}

/** CPUs of the pod's init containers that no sidecar or regular container has taken over: they are free again when those begin. */
function reusableCpus(state: CpuState, pod: Pod): CpuSet {
  const own = state.assignments.get(pod.metadata.uid);
  if (own === undefined) return CpuSet.empty;
  const passing = new Set((pod.spec.initContainers ?? []).filter((c) => !isSidecar(c)).map((c) => c.name));
  const of = (isPassing: boolean) => [...own].filter(([name]) => passing.has(name) === isPassing).map(([, cpus]) => cpus);
  return CpuSet.empty.union(...of(true)).difference(CpuSet.empty.union(...of(false)));
}

function nearCpus({ topology, options }: StaticPolicy, available: CpuSet, affinity: NumaMask): CpuSet {
  const nodes = numaNodes(affinity);
  const near = options.alignBySocket
    ? topology.cpusInAny('socket', topology.idsWithin('socket', 'numa', nodes))
    : topology.cpusInAny('numa', nodes);
  return available.intersection(near);
}

/** Gives back what a container has, but for what other containers of its pod took over. */
export function releaseCpus(state: CpuState, podUid: string, container: string): CpuState {
  const cpus = assigned(state, podUid, container);
  if (cpus === undefined) return state;
  const left = withoutAssignment(state, podUid, container);
  const inUse = CpuSet.empty.union(...(left.assignments.get(podUid)?.values() ?? []));
  return { ...left, defaultSet: state.defaultSet.union(cpus.difference(inUse)) };
}

/** Undefined for a container that owns no CPUs. */
export function containerCpuHints(policy: StaticPolicy, state: CpuState, pod: Pod, container: Container): ProviderHints | undefined {
  const request = guaranteedCpus(pod, container);
  if (request === 0) return undefined;
  const has = assigned(state, pod.metadata.uid, container.name);
  if (has === undefined) return cpu(hintsFor(policy, availableCpus(policy, state), reusableCpus(state, pod), request));
  return cpu(has.size === request ? hintsFor(policy, has, CpuSet.empty, request) : []);
}

/** Hints for all containers of a pod at once. Undefined for a pod that owns no CPUs. */
export function podCpuHints(policy: StaticPolicy, state: CpuState, pod: Pod): ProviderHints | undefined {
  const request = podGuaranteedCpus(pod);
  if (request === 0) return undefined;
  let owned = CpuSet.empty;
  for (const container of managedContainers(pod)) {
    const has = assigned(state, pod.metadata.uid, container.name);
    if (has === undefined) continue;
    if (has.size !== guaranteedCpus(pod, container)) return cpu([]);
    owned = owned.union(has);
  }
  if (owned.size === request) return cpu(hintsFor(policy, owned, CpuSet.empty, request));
  return cpu(hintsFor(policy, availableCpus(policy, state), reusableCpus(state, pod).union(owned), request));
}

const cpu = (hints: readonly TopologyHint[]): ProviderHints => new Map([['cpu', hints]]);

function hintsFor({ topology, options }: StaticPolicy, available: CpuSet, reusable: CpuSet, request: number): TopologyHint[] {
  return cpuHints(topology, available, reusable, request, options.alignBySocket);
}
