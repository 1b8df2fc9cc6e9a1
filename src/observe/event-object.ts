import { findContainer, containerFieldPath as pathOf } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { EventObject } from './events.ts';

/** The pod as the object of an event. */
export function podEventObject(pod: Pod): EventObject {
  const { namespace, name, uid } = pod.metadata;
  return { kind: 'Pod', namespace, name, uid };
}

/** The pod with the field path of one container, e.g. `spec.initContainers{setup}`. */
export function containerEventObject(pod: Pod, container: string): EventObject {
  return { ...podEventObject(pod), fieldPath: containerFieldPath(pod, container) };
}

export function containerFieldPath(pod: Pod, container: string): string {
  const found = findContainer(pod, container);
  return found === undefined ? `spec.containers{${container}}` : pathOf(found);
}
