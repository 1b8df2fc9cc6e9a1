import { isResizable, type ResizeGates, sameRequirements } from '../api/allocation.ts';
import { allContainers } from '../api/pod.ts';
import { quantityOf } from '../api/resources.ts';
import type { Container, Pod } from '../api/types.ts';

export interface RequestedResize {
  resource: 'cpu' | 'memory';
  requirement: 'requests' | 'limits';
  operation: 'add' | 'remove' | 'increase' | 'decrease';
}

/** What a new spec changes of its containers' CPU and memory, one entry for each value. */
export function requestedResizes(before: Pod, after: Pod, gates: ResizeGates): RequestedResize[] {
  const old = new Map<string, Container>();
  for (const found of allContainers(before))
    if (isResizable(found, gates)) old.set(`${found.kind} ${found.container.name}`, found.container);
  const resizes: RequestedResize[] = [];
  for (const found of allContainers(after)) {
    const was = old.get(`${found.kind} ${found.container.name}`);
    if (was === undefined || !isResizable(found, gates)) continue;
    for (const resource of ['memory', 'cpu'] as const) {
      for (const requirement of ['requests', 'limits'] as const) {
        const operation = operationOf(was, found.container, resource, requirement);
        if (operation !== undefined) resizes.push({ resource, requirement, operation });
      }
    }
  }
  return resizes;
}

/** True when the resources of the pod itself differ. */
export function changesPodLevel(before: Pod, after: Pod): boolean {
  return !sameRequirements(before.spec.resources, after.spec.resources);
}

function operationOf(before: Container, after: Container, resource: string, requirement: 'requests' | 'limits') {
  const old = quantityOf(before.resources?.[requirement], resource);
  const wanted = quantityOf(after.resources?.[requirement], resource);
  const order = wanted.cmp(old);
  if (order === 0) return undefined;
  if (wanted.isZero()) return 'remove';
  if (old.isZero()) return 'add';
  return order < 0 ? 'decrease' : 'increase';
}
