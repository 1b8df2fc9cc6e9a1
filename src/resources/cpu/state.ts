import { CpuSet } from '../../api/cpuset.ts';

/** Who has which CPUs. Immutable; by pod UID, then by container. */
export interface CpuState {
  /** The shared pool: all CPUs that no container owns. */
  defaultSet: CpuSet;
  assignments: ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;
}

export const emptyCpuState: CpuState = { defaultSet: CpuSet.empty, assignments: new Map() };

export function assignedCpus(state: CpuState, podUid: string, container: string): CpuSet | undefined {
  return state.assignments.get(podUid)?.get(container);
}

/** What any container owns. */
export function exclusiveCpus(state: CpuState): CpuSet {
  return CpuSet.empty.union(...[...state.assignments.values()].flatMap((containers) => [...containers.values()]));
}

export function withAssignment(state: CpuState, podUid: string, container: string, cpus: CpuSet): CpuState {
  const containers = new Map(state.assignments.get(podUid) ?? []).set(container, cpus);
  return { ...state, assignments: new Map(state.assignments).set(podUid, containers) };
}

export function withoutAssignment(state: CpuState, podUid: string, container: string): CpuState {
  const containers = new Map(state.assignments.get(podUid) ?? []);
  containers.delete(container);
  const assignments = new Map(state.assignments);
  if (containers.size === 0) assignments.delete(podUid);
  else assignments.set(podUid, containers);
  return { ...state, assignments };
}
