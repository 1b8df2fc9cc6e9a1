import type { Container, Pod } from '../../api/types.ts';
import type { NumaNode } from '../../host/numa.ts';
import { assigned } from '../assignments.ts';
import { CheckpointContentError, CheckpointError } from '../checkpoint/errors.ts';
import type { CheckpointFile } from '../checkpoint/file.ts';
import type { ManagerMetrics } from '../manager-metrics.ts';
import type { HintProvider, ProviderHints, TopologyHint } from '../topology/hint.ts';
import { readMemoryCheckpoint, writeMemoryCheckpoint } from './checkpoint.ts';
import { MemoryPolicyError, type ReservedByNode } from './reserved.ts';
import { startMemoryState } from './start.ts';
import { emptyMemoryState, type MemoryBlock, type MemoryState } from './state.ts';
import { allocateMemory, containerMemoryHints, podMemoryHints, releaseInitBefore, releaseMemory } from './static-policy.ts';

/** The machine under the static policy. */
export interface StaticMemory {
  nodes: readonly NumaNode[];
  reserved: ReservedByNode;
}

export interface MemoryManagerDeps {
  /** Undefined: the policy `None`, under which memory comes from wherever the kernel takes it. */
  machine: StaticMemory | undefined;
  file: CheckpointFile;
  metrics: ManagerMetrics;
  /** Names of pods by UID, as the runtime knows them: asked only where a fault is to be told. */
  podNames(): Promise<ReadonlyMap<string, string>>;
}

/** Keeps which memory belongs to whom, on disk before a container may use it. */
export class MemoryManager implements HintProvider {
  readonly name = 'memory';
  readonly #deps: MemoryManagerDeps;
  #state: MemoryState;

  private constructor(deps: MemoryManagerDeps, state: MemoryState) {
    this.#deps = deps;
    this.#state = state;
  }

  /** Takes up the checkpoint. Throws CheckpointError for one that does not fit this policy, this configuration or this machine. */
  static async open(deps: MemoryManagerDeps): Promise<MemoryManager> {
    const manager = new MemoryManager(deps, await restore(deps));
    manager.#store();
    await manager.settled();
    return manager;
  }

  get state(): MemoryState {
    return this.#state;
  }

  hints(pod: Pod, container: Container): ProviderHints | undefined {
    return this.#isStatic ? withoutFault(() => containerMemoryHints(this.#state, pod, container)) : undefined;
  }

  podHints(pod: Pod): ProviderHints | undefined {
    return this.#isStatic ? withoutFault(() => podMemoryHints(this.#state, pod)) : undefined;
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    if (!this.#isStatic) return;
    const { metrics } = this.#deps;
    try {
      const { state, isPinned, isNew } = allocateMemory(this.#state, pod, container, hint);
      if (!isPinned) return;
      metrics.pinned('memory', isNew ? 'new' : 'known');
      this.#set(state);
    } catch (err) {
      metrics.pinned('memory', 'failed');
      throw err;
    }
  }

  release(podUid: string): void {
    const containers = [...(this.#state.assignments.get(podUid)?.keys() ?? [])];
    this.#set(containers.reduce((state, name) => releaseMemory(state, podUid, name), this.#state));
  }

  /** A container begins: what the init containers before it had is free. */
  begins(pod: Pod, container: Container): void {
    this.#set(releaseInitBefore(this.#state, pod, container));
  }

  /** Pods that have memory of their own. */
  pods(): string[] {
    return [...this.#state.assignments.keys()];
  }

  /** The NUMA nodes that a container's memory comes from, ascending; undefined where it is not held to any. */
  nodesOf(podUid: string, container: string): number[] | undefined {
    const nodes = (assigned(this.#state, podUid, container) ?? []).flatMap((block) => block.nodes);
    return nodes.length === 0 ? undefined : [...new Set(nodes)].sort((a, b) => a - b);
  }

  /** Resolves once the state is on disk. */
  settled(): Promise<void> {
    return this.#deps.file.settled();
  }

  get #isStatic(): boolean {
    return this.#deps.machine !== undefined;
  }

  #set(state: MemoryState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#store();
  }

  #store(): void {
    this.#deps.file.write(writeMemoryCheckpoint(this.#isStatic ? 'Static' : 'None', this.#state));
  }
}

/** An amount that cannot be counted is told when it is to be given out. */
function withoutFault(hints: () => ProviderHints | undefined): ProviderHints | undefined {
  try {
    return hints();
  } catch {
    return undefined;
  }
}

async function restore({ machine, file, podNames }: MemoryManagerDeps): Promise<MemoryState> {
  const configured = machine === undefined ? 'None' : 'Static';
  const fault = (reason: string) => new CheckpointError('memory', file.path, reason);
  const start = (state: MemoryState) => (machine === undefined ? state : startMemoryState(machine.nodes, machine.reserved, state));
  const text = await file.read();
  try {
    if (text === undefined) return start(emptyMemoryState);
    const { policyName, state } = readMemoryCheckpoint(text);
    if (policyName !== configured) {
      throw fault(
        `configured policy "${configured}" differs from state checkpoint policy "${policyName}"; ${holders(state, await podNames())}`,
      );
    }
    return start(state);
  } catch (err) {
    if (err instanceof CheckpointContentError || err instanceof MemoryPolicyError) throw fault(err.message);
    throw err;
  }
}

/** Who stands in the way of another policy. */
function holders({ assignments }: MemoryState, names: ReadonlyMap<string, string>): string {
  if (assignments.size === 0) return 'no pod has memory of its own';
  const block = ({ type, nodes }: MemoryBlock) => `${type} on NUMA node ${nodes.join(',')}`;
  const one = ([uid, containers]: [string, ReadonlyMap<string, readonly MemoryBlock[]>]) =>
    `${names.get(uid) ?? 'a pod that is gone,'} ${uid} (${[...containers].map(([name, blocks]) => `container ${name}: ${blocks.map(block).join(', ')}`).join('; ')})`;
  return `these pods have memory of their own: ${[...assignments].map(one).join('; ')}`;
}
