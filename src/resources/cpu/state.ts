import { CpuSet } from '../../api/cpuset.ts';
import type { Assignments } from '../assignments.ts';

/** Who has which CPUs. Immutable. */
export interface CpuState {
  /** The shared pool: all CPUs that no container owns. */
  defaultSet: CpuSet;
  assignments: Assignments<CpuSet>;
}

export const emptyCpuState: CpuState = { defaultSet: CpuSet.empty, assignments: new Map() };

/** What any container owns. */
export function exclusiveCpus(state: CpuState): CpuSet {
  return CpuSet.empty.union(...[...state.assignments.values()].flatMap((containers) => [...containers.values()]));
}
