import { ConfigMirrorAnnotation, ConfigSourceAnnotation } from './annotations.ts';
import type { Container, EphemeralContainer, Pod } from './types.ts';

/** Predicates and names of pods. Source: contract pod-lifecycle.md §1 and §2. */

export const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** `name_namespace`, which is unique among the static pods of a node. */
export function podFullName(pod: Pick<Pod, 'metadata'>): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}

/** The parts of `name_namespace`; undefined where there are not exactly two that hold something. */
export function parsePodFullName(fullName: string): { name: string; namespace: string } | undefined {
  const [name = '', namespace = '', ...more] = fullName.split('_');
  return more.length > 0 || name === '' || namespace === '' ? undefined : { name, namespace };
}

/** `name_namespace(uid)`, as logs and messages name a pod. */
export function formatPod(pod: Pick<Pod, 'metadata'>): string {
  return `${podFullName(pod)}(${pod.metadata.uid})`;
}

function annotation(pod: Pick<Pod, 'metadata'>, key: string): string | undefined {
  const annotations = pod.metadata.annotations ?? {};
  return Object.hasOwn(annotations, key) ? annotations[key] : undefined;
}

/** Where the pod came from: `file`, `http` or `api`. */
export function podSource(pod: Pick<Pod, 'metadata'>): string | undefined {
  return annotation(pod, ConfigSourceAnnotation);
}

export function isStaticPod(pod: Pick<Pod, 'metadata'>): boolean {
  const source = podSource(pod);
  return source !== undefined && source !== 'api';
}

/** Whether this is the API server's copy of a static pod. */
export function isMirrorPod(pod: Pick<Pod, 'metadata'>): boolean {
  return annotation(pod, ConfigMirrorAnnotation) !== undefined;
}

/** Static pods, mirror pods, and pods of a system priority. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

/** A critical pod of the class `system-node-critical`. */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === 'system-node-critical';
}

/** A sidecar: an init container that is kept running. */
export function isRestartableInitContainer(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

export type ContainerKind = 'init' | 'regular' | 'ephemeral';

export interface ContainerOfPod {
  kind: ContainerKind;
  container: Container | EphemeralContainer;
  index: number;
}

/** Every container of a pod: init containers, then regular ones, then ephemeral ones. */
export function* allContainers(pod: Pick<Pod, 'spec'>): Generator<ContainerOfPod, void> {
  for (const [index, container] of (pod.spec.initContainers ?? []).entries()) yield { kind: 'init', container, index };
  for (const [index, container] of (pod.spec.containers ?? []).entries()) yield { kind: 'regular', container, index };
  for (const [index, container] of (pod.spec.ephemeralContainers ?? []).entries()) yield { kind: 'ephemeral', container, index };
}

/** The container of that name, of any kind. */
export function findContainer(pod: Pick<Pod, 'spec'>, name: string): ContainerOfPod | undefined {
  for (const found of allContainers(pod)) if (found.container.name === name) return found;
  return undefined;
}

const FIELD: Record<ContainerKind, string> = {
  init: 'spec.initContainers',
  regular: 'spec.containers',
  ephemeral: 'spec.ephemeralContainers',
};

/** How events point at a container: `spec.containers{name}`. */
export function containerFieldPath({ kind, container, index }: ContainerOfPod): string {
  return container.name === '' ? `${FIELD[kind]}[${index}]` : `${FIELD[kind]}{${container.name}}`;
}
