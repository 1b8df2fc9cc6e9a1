import { CpuTopology } from '../../src/resources/cpu/topology.ts';

/** A machine from rows of [cpu, core, socket, NUMA node, last-level cache]. */
export function topologyOf(rows: readonly (readonly number[])[]): CpuTopology {
  return new CpuTopology(rows.map(([cpu = 0, core = 0, socket = 0, numa = 0, uncore = 0]) => ({ cpu, core, socket, numa, uncore })));
}
