import { isSidecar } from '../../api/restart.ts';
import type { Container, Pod } from '../../api/types.ts';
import { assigned, withAssignment, withoutAssignment } from '../assignments.ts';
import { managedContainers } from '../cpu/guaranteed.ts';
import type { ProviderHints, TopologyHint } from '../topology/hint.ts';
import { type NumaMask, numaMask, numaNodes } from '../topology/numa-mask.ts';
import { bestHint, isSameGroup, memoryHints, type Reusable } from './hints.ts';
import { guaranteedMemory, type MemoryRequest, podGuaranteedMemory } from './requests.ts';
import { charge, discharge, type MemoryBlock, type MemoryState, type NumaNodes } from './state.ts';

/** The static policy: plain functions from state to state. Source: contract node.md §6; KEP-1769. */

export interface MemoryAllocation {
  state: MemoryState;
  /** The container has memory of its own. */
  isPinned: boolean;
  /** Newly given, and not found in the state. */
  isNew: boolean;
}

/** Gives a container its memory, on the nodes of the hint where that suffices. Throws an Error that says why it cannot. */
export function allocateMemory(state: MemoryState, pod: Pod, container: Container, hint: TopologyHint): MemoryAllocation {
  const request = guaranteedMemory(pod, container);
  const { uid } = pod.metadata;
  if (request.size === 0) return { state, isPinned: false, isNew: false };
  if (assigned(state, uid, container.name) !== undefined) return { state, isPinned: true, isNew: false };
  const group = numaNodes(placeFor(state, pod, request, hint));
  if (!isAllowed(state.nodes, group)) throw new Error('[memorymanager] preferred hint violates NUMA node allocation');
  const blocks = [...request].map(([type, size]) => ({ nodes: group, type, size }));
  const reusable = reusableOf(state, pod);
  const nodes = blocks.reduce((after, block) => charge(after, block, Math.max(0, block.size - reusable(group, block.type))), state.nodes);
  const taken = takeFromInit({ ...state, nodes }, pod, container, blocks);
  return { state: withAssignment(taken, uid, container.name, blocks), isPinned: true, isNew: true };
}

/** The nodes for a request: the hint's; wider ones around them where they do not suffice; the best ones without a hint. */
function placeFor(state: MemoryState, pod: Pod, request: MemoryRequest, hint: TopologyHint): NumaMask {
  const hints = () => memoryHints(state.nodes, request, reusableOf(state, pod));
  let place = hint;
  if (place.affinity === undefined) {
    const found = bestHint(hints());
    if (found === undefined)
      throw new Error('[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available');
    if (!found.preferred && place.preferred) throw new Error('[memorymanager] failed to find the default preferred hint');
    place = found;
  }
  const within = place.affinity ?? 0n;
  if (isEnough(state.nodes, within, request) && !isOneOfGroup(state.nodes, within)) return within;
  const wider = bestHint(hints().filter(({ affinity = 0n }) => (affinity & within) === within));
  if (wider === undefined) throw new Error('[memorymanager] failed to find NUMA nodes to extend the current topology hint');
  if (!wider.preferred && place.preferred) throw new Error('[memorymanager] failed to find the extended preferred hint');
  return wider.affinity ?? 0n;
}

function isEnough(nodes: NumaNodes, mask: NumaMask, request: MemoryRequest): boolean {
  const free = (type: string) => numaNodes(mask).reduce((sum, id) => sum + (nodes.get(id)?.memory.get(type)?.free ?? 0), 0);
  return [...request].every(([type, size]) => free(type) >= size);
}

/**
 * A single node that is in use as one of a group. The real kubelet gives memory of it away by itself; then sums drift apart as containers go, and
 * its next start refuses the state.
 */
function isOneOfGroup(nodes: NumaNodes, mask: NumaMask): boolean {
  const [id, ...others] = numaNodes(mask);
  return id !== undefined && others.length === 0 && (nodes.get(id)?.cells.length ?? 1) > 1;
}

/** A group of nodes must not cross nodes that are used alone, or in another group. */
function isAllowed(nodes: NumaNodes, group: readonly number[]): boolean {
  if (group.length === 1) return true;
  return group.every((id) => {
    const node = nodes.get(id);
    return node === undefined || node.assignments === 0 || (node.cells.length > 1 && isSameGroup(node.cells, group));
  });
}

/** The init containers that are over before a container begins. */
function passingBefore(pod: Pod, container: Pick<Container, 'name'>): Container[] {
  const init = pod.spec.initContainers ?? [];
  const at = init.findIndex((c) => c.name === container.name);
  return (at === -1 ? init : init.slice(0, at)).filter((c) => !isSidecar(c));
}

function reusableOf(state: MemoryState, pod: Pod): Reusable {
  const blocks = (pod.spec.initContainers ?? [])
    .filter((c) => !isSidecar(c))
    .flatMap((c) => assigned(state, pod.metadata.uid, c.name) ?? []);
  return (nodes, type) => blocks.reduce((sum, b) => sum + (b.type === type && isSameGroup(b.nodes, nodes) ? b.size : 0), 0);
}

/** What a container uses of its pod's init containers' memory is its own from now on, so that sums stay true. */
function takeFromInit(state: MemoryState, pod: Pod, container: Container, blocks: readonly MemoryBlock[]): MemoryState {
  const { uid } = pod.metadata;
  let after = state;
  for (const block of blocks) {
    let left = block.size;
    for (const init of passingBefore(pod, container)) {
      const had = assigned(after, uid, init.name);
      if (had === undefined || left === 0) continue;
      const has = had.map((own) => {
        if (own.type !== block.type || !isSameGroup(own.nodes, block.nodes)) return own;
        const amount = Math.min(own.size, left);
        left -= amount;
        return { ...own, size: own.size - amount };
      });
      after = withAssignment(after, uid, init.name, has);
    }
  }
  return after;
}

/** Gives back what a container has. */
export function releaseMemory(state: MemoryState, podUid: string, container: string): MemoryState {
  const blocks = assigned(state, podUid, container);
  if (blocks === undefined) return state;
  const left = withoutAssignment(state, podUid, container);
  return { ...left, nodes: blocks.reduce(discharge, left.nodes) };
}

/** Gives back what the init containers have that are over when `container` begins. */
export function releaseInitBefore(state: MemoryState, pod: Pod, container: Pick<Container, 'name'>): MemoryState {
  return passingBefore(pod, container).reduce((after, init) => releaseMemory(after, pod.metadata.uid, init.name), state);
}

/** Undefined for a container that gets no memory of its own. */
export function containerMemoryHints(state: MemoryState, pod: Pod, container: Container): ProviderHints | undefined {
  const request = guaranteedMemory(pod, container);
  if (request.size === 0) return undefined;
  const has = assigned(state, pod.metadata.uid, container.name);
  return has === undefined ? hintsFor(state, pod, request) : hintsOf(has, request);
}

/** Hints for all containers of a pod at once. Undefined for a pod that gets no memory of its own. */
export function podMemoryHints(state: MemoryState, pod: Pod): ProviderHints | undefined {
  const request = podGuaranteedMemory(pod);
  if (request.size === 0) return undefined;
  for (const { name } of managedContainers(pod)) {
    const has = assigned(state, pod.metadata.uid, name);
    if (has !== undefined) return hintsOf(has, request);
  }
  return hintsFor(state, pod, request);
}

function hintsFor(state: MemoryState, pod: Pod, request: MemoryRequest): ProviderHints {
  const hints = memoryHints(state.nodes, request, reusableOf(state, pod));
  return new Map(hints.length === 0 ? [] : [...request.keys()].map((type) => [type, hints]));
}

/** Where the memory lies that was given out already; undefined when it is not what is asked for. */
function hintsOf(blocks: readonly MemoryBlock[], request: MemoryRequest): ProviderHints | undefined {
  if (blocks.length !== request.size || blocks.some(({ type, size }) => request.get(type) !== size)) return undefined;
  return new Map(blocks.map(({ type, nodes }) => [type, [{ affinity: numaMask(nodes), preferred: true }]]));
}
