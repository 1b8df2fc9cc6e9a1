import type { CpuSet } from '../../api/cpuset.ts';
import type { Container, Pod } from '../../api/types.ts';
import { assigned } from '../assignments.ts';
import { CheckpointContentError, CheckpointError } from '../checkpoint/errors.ts';
import type { CheckpointFile } from '../checkpoint/file.ts';
import type { ManagerMetrics } from '../manager-metrics.ts';
import type { HintProvider, ProviderHints, TopologyHint } from '../topology/hint.ts';
import { readCpuCheckpoint, writeCpuCheckpoint } from './checkpoint.ts';
import { type CpuState, emptyCpuState, exclusiveCpus } from './state.ts';
import {
  allocateCpus,
  availableCpus,
  containerCpuHints,
  podCpuHints,
  releaseCpus,
  type StaticPolicy,
  StaticPolicyError,
  startState,
} from './static-policy.ts';

export interface CpuManagerDeps {
  /** Undefined: the policy `none`, under which every container runs on all CPUs. */
  policy: StaticPolicy | undefined;
  file: CheckpointFile;
  metrics: ManagerMetrics;
  /** Names of pods by UID, as the runtime knows them: asked only where a fault is to be told. */
  podNames(): Promise<ReadonlyMap<string, string>>;
  /** The shared pool is another one now. */
  changed(): void;
}

/** Keeps who owns which CPUs, on disk before a container may use them. Every method but `open` and `settled` is synchronous: nothing races. */
export class CpuManager implements HintProvider {
  readonly name = 'cpu';
  readonly #deps: CpuManagerDeps;
  #state: CpuState;

  private constructor(deps: CpuManagerDeps, state: CpuState) {
    this.#deps = deps;
    this.#state = state;
  }

  /** Takes up the checkpoint. Throws CheckpointError for one that does not fit this policy, this configuration or this machine. */
  static async open(deps: CpuManagerDeps): Promise<CpuManager> {
    const manager = new CpuManager(deps, await restore(deps));
    const { policy, metrics } = deps;
    if (policy !== undefined) {
      metrics.prepare('container', 'physical_cpu', true);
      metrics.prepare('container', 'uncore_cache', false);
    }
    manager.#store();
    await manager.settled();
    return manager;
  }

  get state(): CpuState {
    return this.#state;
  }

  hints(pod: Pod, container: Container): ProviderHints | undefined {
    const { policy } = this.#deps;
    return policy && containerCpuHints(policy, this.#state, pod, container);
  }

  podHints(pod: Pod): ProviderHints | undefined {
    const { policy } = this.#deps;
    return policy && podCpuHints(policy, this.#state, pod);
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    const { policy, metrics } = this.#deps;
    if (policy === undefined) return;
    const wholeCores = policy.options.fullPhysicalCpusOnly;
    try {
      const { state, cpus, isNew } = allocateCpus(policy, this.#state, pod, container, hint.affinity);
      if (cpus === undefined) return;
      metrics.pinned('cpu', isNew ? 'new' : 'known');
      if (wholeCores) metrics.aligned('container', 'physical_cpu', false);
      if (isNew && policy.topology.isUncoreAligned(cpus)) metrics.aligned('container', 'uncore_cache', false);
      this.#set(state);
    } catch (err) {
      metrics.pinned('cpu', 'failed');
      if (wholeCores) metrics.aligned('container', 'physical_cpu', true);
      throw err;
    }
  }

  release(podUid: string): void {
    const containers = [...(this.#state.assignments.get(podUid)?.keys() ?? [])];
    this.#set(containers.reduce((state, name) => releaseCpus(state, podUid, name), this.#state));
  }

  /** Pods that own CPUs. */
  pods(): string[] {
    return [...this.#state.assignments.keys()];
  }

  /** What a container is to run on; undefined where it is not held to anything. */
  cpusOf(podUid: string, container: string): CpuSet | undefined {
    const cpus = assigned(this.#state, podUid, container) ?? this.#state.defaultSet;
    return this.#deps.policy === undefined || cpus.isEmpty ? undefined : cpus;
  }

  /** Whether a container owns its CPUs. */
  isExclusive(podUid: string, container: string): boolean {
    return assigned(this.#state, podUid, container) !== undefined;
  }

  /** Resolves once the state is on disk. */
  settled(): Promise<void> {
    return this.#deps.file.settled();
  }

  #set(state: CpuState): void {
    if (state === this.#state) return;
    const isOther = !state.defaultSet.equals(this.#state.defaultSet);
    this.#state = state;
    this.#store();
    if (isOther) this.#deps.changed();
  }

  #store(): void {
    const { policy, file, metrics } = this.#deps;
    const state = this.#state;
    file.write(writeCpuCheckpoint(policy === undefined ? 'none' : 'static', state));
    if (policy === undefined) return;
    const exclusive = exclusiveCpus(state);
    const perNuma = policy.topology
      .ids('numa')
      .map((node) => [node, exclusive.intersection(policy.topology.cpusIn('numa', node)).size] as const);
    metrics.cpus(availableCpus(policy, state).size * 1000, exclusive.size, new Map(perNuma));
  }
}

async function restore({ policy, file, podNames }: CpuManagerDeps): Promise<CpuState> {
  const configured = policy === undefined ? 'none' : 'static';
  const fault = (reason: string) => new CheckpointError('CPU', file.path, reason);
  const text = await file.read();
  try {
    if (text === undefined) return policy === undefined ? emptyCpuState : startState(policy, emptyCpuState);
    const { policyName, state } = readCpuCheckpoint(text);
    if (policyName !== configured) {
      throw fault(
        `configured policy "${configured}" differs from state checkpoint policy "${policyName}"; ${holders(state, await podNames())}`,
      );
    }
    return policy === undefined ? state : startState(policy, state);
  } catch (err) {
    if (err instanceof CheckpointContentError || err instanceof StaticPolicyError) throw fault(err.message);
    throw err;
  }
}

/** Who stands in the way of another policy. */
function holders({ assignments }: CpuState, names: ReadonlyMap<string, string>): string {
  if (assignments.size === 0) return 'no pod owns CPUs';
  const one = ([uid, containers]: [string, ReadonlyMap<string, CpuSet>]) =>
    `${names.get(uid) ?? 'a pod that is gone,'} ${uid} (${[...containers].map(([name, cpus]) => `container ${name}: ${cpus}`).join(', ')})`;
  return `these pods own CPUs: ${[...assignments].map(one).join('; ')}`;
}
