/** What containers have of one resource. Immutable; by pod UID, then by container. */
export type Assignments<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

interface Assigning<T> {
  assignments: Assignments<T>;
}

type Assigned<S> = S extends Assigning<infer T> ? T : never;

export function assigned<T>({ assignments }: Assigning<T>, podUid: string, container: string): T | undefined {
  return assignments.get(podUid)?.get(container);
}

export function withAssignment<S extends Assigning<unknown>>(state: S, podUid: string, container: string, what: Assigned<S>): S {
  const containers = new Map(state.assignments.get(podUid) ?? []).set(container, what);
  return { ...state, assignments: new Map(state.assignments).set(podUid, containers) };
}

/** A pod without any container left is not listed. */
export function withoutAssignment<S extends Assigning<unknown>>(state: S, podUid: string, container: string): S {
  const containers = new Map(state.assignments.get(podUid) ?? []);
  containers.delete(container);
  const assignments = new Map(state.assignments);
  if (containers.size === 0) assignments.delete(podUid);
  else assignments.set(podUid, containers);
  return { ...state, assignments };
}
