import { podRequests, resourcesOf } from '../api/resources.ts';
import type { Pod, ResourceList } from '../api/types.ts';

/** A resource of which the node has not enough left. CPU in thousandths, the rest in whole units. */
export interface InsufficientResource {
  resource: string;
  requested: bigint;
  used: bigint;
  capacity: bigint;
}

const amountsByPod = new WeakMap<Pod, ReadonlyMap<string, bigint>>();

/**
 * What a pod asks for, by resource: CPU in thousandths, the rest in whole units. Summed once, as a pod is never changed,
 * only replaced: each new pod is compared with all that are here, and an agent that starts finds all of them new.
 */
export function requestedAmounts(pod: Pod): ReadonlyMap<string, bigint> {
  let amounts = amountsByPod.get(pod);
  if (amounts === undefined) {
    amounts = new Map([...podRequests(pod)].map(([name, q]) => [name, name === 'cpu' ? q.milliValue() : q.value()]));
    amountsByPod.set(pod, amounts);
  }
  return amounts;
}

/** Resources that every node has, in the order they are reported. */
const Basic = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * What the node lacks to take the pod beside the others, most important first. An extended resource that the node does
 * not have at all is not looked at: its plugin may not be registered yet. Source: vectors general-predicates.
 */
export function insufficientResources(pod: Pod, others: readonly Pod[], allocatable: ResourceList): InsufficientResource[] {
  const room = resourcesOf(allocatable);
  const requests = requestedAmounts(pod);
  const used = others.map(requestedAmounts);
  const extended = [...requests.keys()].filter((name) => isHugePages(name) || (isExtended(name) && room.has(name))).sort();
  const found: InsufficientResource[] = [];
  const pods = room.get('pods')?.value() ?? 0n;
  if (BigInt(others.length) + 1n > pods) found.push({ resource: 'pods', requested: 1n, used: BigInt(others.length), capacity: pods });
  for (const resource of [...Basic, ...extended]) {
    const requested = requests.get(resource) ?? 0n;
    const quantity = room.get(resource);
    const capacity = (resource === 'cpu' ? quantity?.milliValue() : quantity?.value()) ?? 0n;
    const taken = used.reduce((sum, other) => sum + (other.get(resource) ?? 0n), 0n);
    if (requested > 0n && requested > capacity - taken) found.push({ resource, requested, used: taken, capacity });
  }
  return found;
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** A resource of a device plugin: qualified by a domain that is not Kubernetes' own. */
function isExtended(name: string): boolean {
  return name.includes('/') && !/(^|\.)kubernetes\.io\//.test(name) && !name.startsWith('requests.');
}
