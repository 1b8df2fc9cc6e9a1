import type { CpuSet } from '../../api/cpuset.ts';
import { Accumulator, type SortingStrategy } from './accumulator.ts';
import type { CpuTopology } from './topology.ts';

/** The node has not got so many CPUs to give away. */
export class NotEnoughCpusError extends Error {
  readonly code = 'not-enough-cpus';
  constructor(requested: number, available: number) {
    super(`not enough cpus available to satisfy request: requested=${requested}, available=${available}`);
    this.name = 'NotEnoughCpusError';
  }
}

export interface TakeOptions {
  strategy: SortingStrategy;
  /** Keep a request within one cache of the last level where that can be had. */
  preferUncore: boolean;
}

/**
 * `count` of the available CPUs, as near to one another as they can be had: whole NUMA nodes and sockets, then whole cores, then
 * single CPUs. Throws NotEnoughCpusError. Source: vectors cpu-assignment.
 */
export function takePacked(topology: CpuTopology, available: CpuSet, count: number, options: TakeOptions): CpuSet {
  const accumulator = new Accumulator(topology, available, count, options.strategy);
  if (accumulator.isFailed) throw new NotEnoughCpusError(count, available.size);
  const [outer, inner] = accumulator.outer;
  const stages = [
    () => accumulator.takeWhole(outer),
    () => accumulator.takeWhole(inner),
    () => options.preferUncore && accumulator.takeUncore(),
    () => options.strategy === 'packed' && accumulator.takeWhole('core'),
    () => accumulator.takeSingle(),
  ];
  for (const stage of stages) if (!accumulator.isSatisfied) stage();
  return accumulator.taken;
}
