import { allContainers, type ContainerOfPod, isRestartableInitContainer } from './pod.ts';
import type { Quantity } from './quantity.ts';
import { quantityOf } from './resources.ts';
import type { Container, Pod, ResourceList, ResourceRequirements } from './types.ts';

/**
 * What is set aside for a pod (allocated), or in force (actuated), apart from what its spec asks for. While a resize is
 * under way the three differ. Source: contract pod-lifecycle.md §20, KEP-1287, KEP-5419. Pure.
 */
export interface PodResourceInfo {
  /** By container name; only containers that can be resized. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  /** Resources of the pod itself. */
  readonly pod?: ResourceRequirements;
}

/** Which resizes the node's feature gates allow; all containers but ordinary init and ephemeral ones always are. */
export interface ResizeGates {
  /** InPlacePodLevelResourcesVerticalScaling. */
  podLevel: boolean;
  /** InPlacePodVerticalScalingInitContainers: ordinary init containers, too. */
  initContainers: boolean;
}

/** CPU in thousandths, memory in bytes; 0 where nothing is set. */
export interface Amounts {
  cpuRequest: number;
  cpuLimit: number;
  memoryRequest: number;
  memoryLimit: number;
}

export function isResizable({ kind, container }: Pick<ContainerOfPod, 'kind' | 'container'>, gates: ResizeGates): boolean {
  if (kind === 'init') return gates.initContainers || isRestartableInitContainer(container);
  return kind === 'regular';
}

/** The part of the spec that can be resized. */
export function resourceInfoOf(pod: Pick<Pod, 'spec'>, gates: ResizeGates): PodResourceInfo {
  const containers: Record<string, ResourceRequirements> = {};
  for (const found of allContainers(pod)) {
    if (isResizable(found, gates)) containers[found.container.name] = found.container.resources ?? {};
  }
  const own = gates.podLevel ? pod.spec.resources : undefined;
  return own === undefined || own === null ? { containers } : { containers, pod: own };
}

/** The pod with the resources of `info` in place of the spec's; the same object where nothing differs. */
export function withAllocation(pod: Pod, info: PodResourceInfo | undefined, gates: ResizeGates): Pod {
  if (info === undefined) return pod;
  let { spec } = pod;
  if (gates.podLevel && !sameRequirements(spec.resources, info.pod)) {
    const { resources: _, ...rest } = spec;
    spec = info.pod === undefined ? rest : { ...rest, resources: info.pod };
  }
  const allocated = (c: Container): Container => {
    const own = Object.hasOwn(info.containers, c.name) ? info.containers[c.name] : undefined;
    return own === undefined || sameRequirements(c.resources, own) ? c : { ...c, resources: own };
  };
  for (const list of ['containers', 'initContainers'] as const) {
    const before = spec[list];
    const after = before?.map(allocated);
    if (after?.some((c, i) => c !== before?.[i])) spec = { ...spec, [list]: after };
  }
  return spec === pod.spec ? pod : { ...pod, spec };
}

/** Equal as Kubernetes compares them: by quantity, and nothing is the same as an empty list. */
export function sameRequirements(a: ResourceRequirements | null | undefined, b: ResourceRequirements | null | undefined): boolean {
  // Mostly what is allocated is the spec's own: this is asked of every pod of the node whenever one is admitted.
  if (a === b) return true;
  return (
    sameList(a?.requests, b?.requests) &&
    sameList(a?.limits, b?.limits) &&
    JSON.stringify(a?.claims ?? []) === JSON.stringify(b?.claims ?? [])
  );
}

function sameList(a: ResourceList | null | undefined, b: ResourceList | null | undefined): boolean {
  const names = Object.keys(a ?? {});
  if (names.length !== Object.keys(b ?? {}).length) return false;
  return names.every(
    (name) => Object.hasOwn(b ?? {}, name) && (a?.[name] === b?.[name] || quantityOf(a, name).equals(quantityOf(b, name))),
  );
}

/** The limits that hold for a container: its own, and the pod's for CPU and memory where it has none. */
export function effectiveLimits(
  podResources: ResourceRequirements | null | undefined,
  resources: ResourceRequirements | undefined,
): ResourceList {
  const limits = { ...resources?.limits };
  for (const name of ['cpu', 'memory']) {
    const ofPod = quantityOf(podResources?.limits, name);
    if (quantityOf(limits, name).isZero() && !ofPod.isZero()) limits[name] = ofPod.toString();
  }
  return limits;
}

/** Of a container, with the pod's limits where it has none. `podLevel` false: of the container alone. */
export function containerAmounts(
  podResources: ResourceRequirements | undefined,
  resources: ResourceRequirements | undefined,
  podLevel: boolean,
): Amounts {
  return amountsOf({ ...resources, limits: podLevel ? effectiveLimits(podResources, resources) : (resources?.limits ?? {}) });
}

export function amountsOf(resources: ResourceRequirements | undefined): Amounts {
  const milli = (q: Quantity) => Number(q.milliValue());
  const bytes = (q: Quantity) => Number(q.value());
  return {
    cpuRequest: milli(quantityOf(resources?.requests, 'cpu')),
    cpuLimit: milli(quantityOf(resources?.limits, 'cpu')),
    memoryRequest: bytes(quantityOf(resources?.requests, 'memory')),
    memoryLimit: bytes(quantityOf(resources?.limits, 'memory')),
  };
}

export function sameAmounts(a: Amounts, b: Amounts): boolean {
  return (
    a.cpuRequest === b.cpuRequest && a.cpuLimit === b.cpuLimit && a.memoryRequest === b.memoryRequest && a.memoryLimit === b.memoryLimit
  );
}

/**
 * True while CPU or memory in force differ from what is allocated, for a container that runs or for the pod itself. A
 * container that does not run gets its size when it starts. `pod` has its allocated resources.
 */
export function isResizeInProgress(
  pod: Pod,
  actuated: PodResourceInfo | undefined,
  runs: (container: string) => boolean,
  gates: ResizeGates,
): boolean {
  for (const { kind, container } of allContainers(pod)) {
    if (!isResizable({ kind, container }, gates) || !runs(container.name)) continue;
    const wanted = containerAmounts(pod.spec.resources, container.resources, gates.podLevel);
    if (!sameAmounts(wanted, containerAmounts(actuated?.pod, actuated?.containers[container.name], gates.podLevel))) return true;
  }
  if (!gates.podLevel || !pod.spec.resources || actuated?.pod === undefined) return false;
  return !sameAmounts(amountsOf(pod.spec.resources), amountsOf(actuated.pod));
}
