import type { NumaNode } from '../../host/numa.ts';
import { type CpuPlace, CpuTopology } from './topology.ts';

/** The CPUs of the machine's NUMA nodes. A core is known by its lowest CPU, a node without a cache of its own kind by the socket. */
export function cpuTopologyOf(nodes: readonly NumaNode[]): CpuTopology {
  const places: CpuPlace[] = nodes.flatMap((node) =>
    node.cores.flatMap(({ threads, socket, uncore }) =>
      threads.map((cpu) => ({ cpu, core: Math.min(...threads), socket, numa: node.id, uncore: uncore ?? socket })),
    ),
  );
  return new CpuTopology(places);
}
