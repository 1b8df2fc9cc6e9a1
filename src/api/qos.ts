import { isPodLevelResourcesSet, quantityOf } from './resources.ts';
import type { Pod, PodQOSClass, ResourceRequirements } from './types.ts';

/** Source: vectors qos-class. */

/** One resource: equal and not zero is Guaranteed, both zero is BestEffort. */
function classOfResource(resources: ResourceRequirements, name: string): PodQOSClass {
  const request = quantityOf(resources.requests, name);
  if (!request.equals(quantityOf(resources.limits, name))) return 'Burstable';
  return request.isZero() ? 'BestEffort' : 'Guaranteed';
}

/** Classes that differ make Burstable. */
function combine(classes: readonly PodQOSClass[]): PodQOSClass {
  const [first = 'BestEffort', ...rest] = classes;
  return rest.every((c) => c === first) ? first : 'Burstable';
}

function classOfRequirements(resources: ResourceRequirements | undefined): PodQOSClass {
  return combine(['cpu', 'memory'].map((name) => classOfResource(resources ?? {}, name)));
}

/** The class by the pod-level resources where they are set, else by all init and regular containers. */
export function computePodQOS(pod: Pick<Pod, 'spec'>): PodQOSClass {
  if (isPodLevelResourcesSet(pod)) return classOfRequirements(pod.spec.resources);
  return combine([...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])].map((c) => classOfRequirements(c.resources)));
}

/** The class that the status names, else the computed one. */
export function getPodQOS(pod: Pick<Pod, 'spec' | 'status'>): PodQOSClass {
  const { qosClass } = pod.status ?? {};
  return qosClass ? qosClass : computePodQOS(pod);
}
