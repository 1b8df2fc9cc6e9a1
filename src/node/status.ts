import { canonicalIp } from '../api/ip.ts';
import { isExtendedResource, isHugePageResource } from '../api/resource-names.ts';
import { type Resources, toResourceList } from '../api/resources.ts';
import type { ResourceList, StringMap } from '../api/types.ts';
import type { RuntimeStatus } from '../cri/types.ts';
import type { Node, NodeAddress, NodeStatus, NodeSystemInfo } from '../kube/types.ts';
import { type ConditionFacts, type NodeNote, nodeConditions } from './conditions.ts';

/** Resources of device plugins, as they are now. */
export interface DeviceResources {
  capacity: ResourceList;
  allocatable: ResourceList;
  /** Names of those whose plugin went away. */
  removed: readonly string[];
}

/** Everything that a status is computed from, observed at `at`. */
export interface NodeFacts extends ConditionFacts {
  hostname: string;
  /** `--node-ip`, without the addresses that only name a family. */
  givenIPs: readonly string[];
  /** Primary first. Empty: none was found, those that the node has stay. */
  foundIPs: readonly string[];
  /** `--node-ip` was given, if only as a family. */
  nodeIPGiven: boolean;
  cloudExternal: boolean;
  /** The machine's own resources. */
  capacity: Resources;
  /** Of the same names. */
  allocatable: Resources;
  devices?: DeviceResources | undefined;
  localStorageCapacityIsolation: boolean;
  nodeInfo: NodeSystemInfo;
  kubeletPort: number;
  /** Undefined: not known now, those that the node has stay. */
  images: NodeStatus['images'] | undefined;
  runtimeHandlers: RuntimeStatus['runtimeHandlers'];
  /** Undefined where the runtime tells none, or the gate is off. */
  features: { supplementalGroupsPolicy: boolean } | undefined;
  declaredFeatures: readonly string[] | undefined;
  /** Undefined until the volumes of an earlier run are known. */
  volumesInUse: readonly string[] | undefined;
}

export const ProvidedNodeIpAnnotation = 'alpha.kubernetes.io/provided-node-ip';

/**
 * The node with its status as observed; what others wrote there stays. Pure. `notes` are the events that the change is
 * told with. Source: contract node.md §1.
 */
export function withStatus(node: Node, facts: NodeFacts, zeroExtended = false): { node: Node; notes: NodeNote[] } {
  const before = node.status ?? {};
  const { capacity, allocatable } = resources(before, facts, zeroExtended);
  const missing = missingCapacity(capacity, facts.localStorageCapacityIsolation);
  const { conditions, notes } = nodeConditions(before.conditions ?? [], { ...facts, notReady: [...facts.notReady, ...missing] });
  const addresses = addressesOf(before.addresses ?? [], facts);
  const images = facts.images ?? before.images;
  const runtimeHandlers = facts.runtimeHandlers.map(handler);
  const declared = facts.declaredFeatures ?? before.declaredFeatures;
  const volumesInUse = facts.volumesInUse ?? before.volumesInUse;
  const { runtimeHandlers: _handlers, volumesInUse: _volumes, declaredFeatures: _declared, images: _images, ...kept } = before;
  const status: NodeStatus = {
    ...kept,
    addresses,
    capacity,
    allocatable,
    conditions,
    nodeInfo: facts.nodeInfo,
    daemonEndpoints: { kubeletEndpoint: { Port: facts.kubeletPort } },
    ...(images === undefined || images.length === 0 ? {} : { images }),
    ...(runtimeHandlers.length === 0 ? {} : { runtimeHandlers }),
    ...(facts.features === undefined ? {} : { features: facts.features }),
    ...(declared === undefined || declared.length === 0 ? {} : { declaredFeatures: [...declared] }),
    ...(volumesInUse === undefined || volumesInUse.length === 0 ? {} : { volumesInUse: [...volumesInUse] }),
  };
  return { node: { ...node, metadata: withProvidedIp(node.metadata, facts), status }, notes: [...rebooted(before, facts), ...notes] };
}

function handler({ name, features }: RuntimeStatus['runtimeHandlers'][number]): NonNullable<NodeStatus['runtimeHandlers']>[number] {
  const { recursiveReadOnlyMounts = false, userNamespaces = false } = features ?? {};
  return { ...(name === '' ? {} : { name }), features: { recursiveReadOnlyMounts, userNamespaces } };
}

/** Contract node.md §1: the addresses of a cloud's node are its cloud's, once it has set them. */
function addressesOf(before: NodeAddress[], facts: NodeFacts): NodeAddress[] {
  const hostname: NodeAddress = { type: 'Hostname', address: facts.hostname };
  if (facts.cloudExternal && before.length > 0) return before;
  if (facts.cloudExternal && !facts.nodeIPGiven) return [hostname];
  if (facts.foundIPs.length === 0) return before;
  return [...facts.foundIPs.map((ip): NodeAddress => ({ type: 'InternalIP', address: canonicalIp(ip) ?? ip })), hostname];
}

function withProvidedIp(metadata: Node['metadata'], { cloudExternal, givenIPs }: NodeFacts): Node['metadata'] {
  const wanted = cloudExternal && givenIPs.length > 0 ? givenIPs.map((ip) => canonicalIp(ip) ?? ip).join(',') : undefined;
  if (metadata.annotations?.[ProvidedNodeIpAnnotation] === wanted) return metadata;
  const annotations: StringMap = { ...metadata.annotations };
  if (wanted === undefined) delete annotations[ProvidedNodeIpAnnotation];
  else annotations[ProvidedNodeIpAnnotation] = wanted;
  return { ...metadata, annotations };
}

/** What the machine and its device plugins have; resources that others advertise stay, and count as allocatable whole. */
function resources(before: NodeStatus, facts: NodeFacts, zeroExtended: boolean): { capacity: ResourceList; allocatable: ResourceList } {
  const own = toResourceList(facts.capacity);
  const capacity: ResourceList = {};
  for (const [name, quantity] of Object.entries(before.capacity ?? {})) {
    // A size of pages that the kernel no longer has.
    if (isHugePageResource(name) && !Object.hasOwn(own, name)) continue;
    capacity[name] = zeroExtended && isExtendedResource(name) ? '0' : quantity;
  }
  const { devices } = facts;
  Object.assign(capacity, own, devices?.capacity);
  for (const name of devices?.removed ?? []) capacity[name] = '0';
  const allocatable: ResourceList = {};
  for (const name of Object.keys(before.allocatable ?? {})) {
    const value = before.allocatable?.[name];
    const stays = Object.hasOwn(capacity, name) || !(isExtendedResource(name) || isHugePageResource(name));
    if (value !== undefined && stays) allocatable[name] = value;
  }
  Object.assign(allocatable, capacity, toResourceList(facts.allocatable), devices?.allocatable);
  return { capacity, allocatable };
}

function missingCapacity(capacity: ResourceList, localStorage: boolean): string[] {
  const needed = ['cpu', 'memory', 'pods', ...(localStorage ? ['ephemeral-storage'] : [])];
  const missing = needed.filter((name) => !Object.hasOwn(capacity, name));
  return missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`];
}

function rebooted({ nodeInfo }: NodeStatus, facts: NodeFacts): NodeNote[] {
  const was = nodeInfo?.bootID ?? '';
  const { bootID } = facts.nodeInfo;
  if (was === '' || was === bootID) return [];
  return [{ type: 'Warning', reason: 'Rebooted', message: `Node ${facts.nodeName} has been rebooted, boot id: ${bootID}` }];
}
