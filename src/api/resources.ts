import { Quantity } from './quantity.ts';
import type { Container, ContainerStatus, Pod, ResourceList } from './types.ts';

/**
 * What a pod asks for in sum: containers run together, init containers before them, sidecars beside both. Source:
 * vectors pod-requests; KEP-753 (sidecars), KEP-2837 (pod-level resources), KEP-1287 (resize).
 */

export type Resources = Map<string, Quantity>;

/** A quantity of a list; zero where it is missing. */
export function quantityOf(list: ResourceList | null | undefined, name: string): Quantity {
  return list !== null && list !== undefined && Object.hasOwn(list, name) ? Quantity.fromJson(list[name]) : Quantity.zero;
}

/** A list with its quantities read. Throws QuantityError. */
export function resourcesOf(list: ResourceList | null | undefined): Resources {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, Quantity.fromJson(text)]));
}

/** The list in its JSON form, with canonical texts. */
export function toResourceList(resources: Resources): ResourceList {
  return Object.fromEntries([...resources].map(([name, quantity]) => [name, quantity.toString()]));
}

export interface PodResourcesOptions {
  /** Take what the status says is allocated and in force into account, for a pod under resize. */
  useStatus?: boolean;
  /** With useStatus: pod-level resources of the status, too. */
  podLevelResize?: boolean;
  excludeOverhead?: boolean;
  skipPodLevel?: boolean;
  /** Requests of a container that names none for a resource. */
  nonMissingRequests?: ResourceList;
}

function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

const hasPodLevel = (list: ResourceList | null | undefined): boolean => Object.keys(list ?? {}).some(isPodLevelResource);

/** Whether the pod itself, beside its containers, has requests that count. */
export function isPodLevelRequestsSet(pod: Pick<Pod, 'spec'>): boolean {
  return hasPodLevel(pod.spec.resources?.requests);
}

/** Whether the pod itself, beside its containers, has requests or limits that count. */
export function isPodLevelResourcesSet(pod: Pick<Pod, 'spec'>): boolean {
  return isPodLevelRequestsSet(pod) || hasPodLevel(pod.spec.resources?.limits);
}

/** Whether a pending resize was found impossible on this node: its new spec does not count then. */
export function isPodResizeInfeasible(pod: Pick<Pod, 'status'>): boolean {
  return pod.status?.conditions?.find((c) => c.type === 'PodResizePending')?.reason === 'Infeasible';
}

function addInto(sum: Resources, more: Resources): void {
  for (const [name, quantity] of more) sum.set(name, sum.get(name)?.add(quantity) ?? quantity);
}

function maxInto(greatest: Resources, more: Resources): void {
  for (const [name, quantity] of more) {
    const known = greatest.get(name);
    if (known === undefined || quantity.cmp(known) > 0) greatest.set(name, quantity);
  }
}

/** The greatest of each resource. */
export function maxResources(...lists: readonly Resources[]): Resources {
  const greatest: Resources = new Map();
  for (const list of lists) maxInto(greatest, list);
  return greatest;
}

type ListOf = (container: Container, status: ContainerStatus | undefined) => ResourceList | null | undefined;

function statusOf(pod: Pick<Pod, 'status'>, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return containerStatuses.find((s) => s.name === name) ?? initContainerStatuses.find((s) => s.name === name);
}

/**
 * Sums the regular containers and sidecars; each init container raises the result to what runs while it does: itself
 * and the sidecars before it.
 */
function aggregate(pod: Pick<Pod, 'spec' | 'status'>, listOf: ListOf, options: PodResourcesOptions): Resources {
  const ofContainer = (container: Container): Resources => {
    const own = resourcesOf(listOf(container, options.useStatus === true ? statusOf(pod, container.name) : undefined));
    for (const [name, text] of Object.entries(options.nonMissingRequests ?? {})) {
      if (!own.has(name)) own.set(name, Quantity.zero.add(Quantity.fromJson(text)));
    }
    return own;
  };
  const total: Resources = new Map();
  for (const container of pod.spec.containers ?? []) addInto(total, ofContainer(container));
  const sidecars: Resources = new Map();
  const whileStarting: Resources = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    const own = ofContainer(container);
    if (container.restartPolicy === 'Always') {
      addInto(total, own);
      addInto(sidecars, own);
      maxInto(whileStarting, sidecars);
    } else {
      addInto(own, sidecars);
      maxInto(whileStarting, own);
    }
  }
  maxInto(total, whileStarting);
  return total;
}

/** Requests of all containers together, without pod-level resources and overhead. */
export function aggregateContainerRequests(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions = {}): Resources {
  const spec = aggregate(pod, (c) => c.resources?.requests, options);
  if (options.useStatus !== true) return spec;
  const infeasible = isPodResizeInfeasible(pod);
  const [allocated, actuated] = statusRequests(pod, options, infeasible);
  return infeasible ? maxResources(actuated, allocated) : maxResources(spec, actuated, allocated);
}

function statusRequests(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions, infeasible: boolean): [Resources, Resources] {
  const { allocatedResources, resources } = pod.status ?? {};
  if (options.podLevelResize === true && allocatedResources && resources?.requests) {
    return [resourcesOf(allocatedResources), resourcesOf(resources.requests)];
  }
  const fromSpec = (container: Container) => (infeasible ? undefined : container.resources?.requests);
  const allocated: ListOf = (container, status) => status?.allocatedResources ?? fromSpec(container);
  const actuated: ListOf = (container, status) => status?.resources?.requests ?? status?.allocatedResources ?? fromSpec(container);
  return [aggregate(pod, allocated, options), aggregate(pod, actuated, options)];
}

/** Limits of all containers together, without pod-level resources and overhead. */
export function aggregateContainerLimits(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions = {}): Resources {
  const { nonMissingRequests: _, ...withoutRequests } = options;
  const spec = aggregate(pod, (c) => c.resources?.limits, withoutRequests);
  if (options.useStatus !== true) return spec;
  const infeasible = isPodResizeInfeasible(pod);
  const podLimits = options.podLevelResize === true ? pod.status?.resources?.limits : undefined;
  const actuated = podLimits
    ? resourcesOf(podLimits)
    : aggregate(pod, (c, status) => status?.resources?.limits ?? (infeasible ? undefined : c.resources?.limits), withoutRequests);
  return infeasible ? actuated : maxResources(spec, actuated);
}

/** Pod-level resources replace the sum of the containers'. */
function applyPodLevel(into: Resources, spec: Resources, statuses: readonly Resources[] | undefined, infeasible: boolean): void {
  const effective = statuses === undefined ? spec : maxResources(...(infeasible ? [] : [spec]), ...statuses);
  for (const [name, quantity] of effective) if (isPodLevelResource(name)) into.set(name, quantity);
}

/** What the pod asks for: containers, pod-level requests, overhead. */
export function podRequests(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions = {}): Resources {
  const requests = aggregateContainerRequests(pod, options);
  const { allocatedResources, resources } = pod.status ?? {};
  if (options.skipPodLevel !== true && isPodLevelRequestsSet(pod)) {
    const fromStatus = options.podLevelResize === true && options.useStatus === true && resources;
    const statuses = fromStatus ? [resourcesOf(resources.requests), resourcesOf(allocatedResources)] : undefined;
    applyPodLevel(requests, resourcesOf(pod.spec.resources?.requests), statuses, isPodResizeInfeasible(pod));
  }
  if (options.excludeOverhead !== true) addInto(requests, resourcesOf(pod.spec.overhead));
  return requests;
}

/** What the pod may use: containers, pod-level limits, overhead where there is a limit that is not zero. */
export function podLimits(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions = {}): Resources {
  const limits = aggregateContainerLimits(pod, options);
  if (options.skipPodLevel !== true && isPodLevelResourcesSet(pod)) {
    const status = pod.status?.resources;
    const fromStatus = options.podLevelResize === true && options.useStatus === true && status;
    const statuses = fromStatus ? [resourcesOf(status.limits)] : undefined;
    applyPodLevel(limits, resourcesOf(pod.spec.resources?.limits), statuses, isPodResizeInfeasible(pod));
  }
  if (options.excludeOverhead === true) return limits;
  for (const [name, quantity] of resourcesOf(pod.spec.overhead)) {
    const limit = limits.get(name);
    if (limit !== undefined && !limit.isZero()) limits.set(name, limit.add(quantity));
  }
  return limits;
}
