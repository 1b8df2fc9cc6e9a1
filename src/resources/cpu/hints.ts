import type { CpuSet } from '../../api/cpuset.ts';
import { allCombinations } from '../combinations.ts';
import type { TopologyHint } from '../topology/hint.ts';
import { numaMask } from '../topology/numa-mask.ts';
import type { CpuTopology } from './topology.ts';

/**
 * Where a request of CPUs could be met: each set of NUMA nodes that has enough free ones and holds all reusable ones. Preferred are those of as
 * few nodes as the request needs on an empty machine, or with `alignBySocket` of as few sockets.
 */
export function cpuHints(
  topology: CpuTopology,
  available: CpuSet,
  reusable: CpuSet,
  request: number,
  alignBySocket: boolean,
): TopologyHint[] {
  const numa = topology.ids('numa');
  let fewest = numa.length;
  const found: (readonly number[])[] = [];
  for (const nodes of allCombinations(numa)) {
    const cpus = topology.cpusInAny('numa', nodes);
    if (cpus.size >= request && nodes.length < fewest) fewest = nodes.length;
    if (!reusable.isSubsetOf(cpus)) continue;
    if (available.intersection(cpus).size + reusable.size >= request) found.push(nodes);
  }
  return found.map((nodes) => ({
    affinity: numaMask(nodes),
    preferred: nodes.length === fewest || (alignBySocket && isSocketAligned(topology, nodes, fewest)),
  }));
}

/** Whether these nodes lie in as few sockets as so many nodes can. */
function isSocketAligned(topology: CpuTopology, nodes: readonly number[], fewest: number): boolean {
  const nodesPerSocket = Math.floor(topology.ids('numa').length / topology.ids('socket').length);
  if (nodesPerSocket === 0) return false;
  return topology.idsWithin('socket', 'numa', nodes).size === Math.ceil(fewest / nodesPerSocket);
}
