import { allCombinations } from '../combinations.ts';
import type { TopologyHint } from '../topology/hint.ts';
import { isNarrower, numaMask } from '../topology/numa-mask.ts';
import type { MemoryRequest } from './requests.ts';
import type { MemoryTable, NumaNodes } from './state.ts';

/** What of a pod's own memory on these nodes can be used again: its init containers'. */
export type Reusable = (nodes: readonly number[], type: string) => number;

/**
 * Where a request of memory could be met: sets of NUMA nodes that have enough free memory of every kind, and that are not used otherwise than
 * alone or together. Preferred are those of as few nodes as the request needs on an empty machine. All kinds of memory have the same hints.
 */
export function memoryHints(nodes: NumaNodes, request: MemoryRequest, reusable: Reusable): TopologyHint[] {
  const ids = [...nodes.keys()].sort((a, b) => a - b);
  let fewest = ids.length;
  const found: (readonly number[])[] = [];
  for (const group of allCombinations(ids)) {
    const has = (name: keyof MemoryTable, type: string) =>
      group.reduce((sum, id) => sum + (nodes.get(id)?.memory.get(type)?.[name] ?? 0), 0);
    if ([...request].some(([type, size]) => has('allocatable', type) < size)) continue;
    fewest = Math.min(fewest, group.length);
    if (!isUsableAs(nodes, group)) continue;
    if ([...request].every(([type, size]) => has('free', type) + reusable(group, type) >= size)) found.push(group);
  }
  return found.map((group) => ({ affinity: numaMask(group), preferred: group.length === fewest }));
}

/** A node that holds blocks of its own is not made part of a group, and one of a group serves that group alone. */
function isUsableAs(nodes: NumaNodes, group: readonly number[]): boolean {
  if (group.length === 1) return group.every((id) => (nodes.get(id)?.cells.length ?? 1) <= 1);
  return group.every((id) => {
    const node = nodes.get(id);
    return node === undefined || node.assignments === 0 || isSameGroup(node.cells, group);
  });
}

export function isSameGroup(a: readonly number[], b: readonly number[]): boolean {
  return numaMask(a) === numaMask(b);
}

/** The preferred before the others, the narrower before the wider. */
export function bestHint(hints: readonly TopologyHint[]): TopologyHint | undefined {
  let best: TopologyHint | undefined;
  for (const hint of hints) {
    if (best === undefined || (hint.preferred && !best.preferred)) best = hint;
    else if (hint.preferred === best.preferred && isNarrower(hint.affinity ?? 0n, best.affinity ?? 0n)) best = hint;
  }
  return best;
}
