import type { StringMap } from '../../api/types.ts';
import { goJson } from '../../compat/go-json.ts';
import type { CSINode, CSINodeDriver } from '../../kube/types.ts';
import type { NodeInfo } from './node-client.ts';

/** Holds a JSON object: driver to the driver's name for the node. */
export const NodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid';
const MigratedPluginsAnnotation = 'storage.alpha.kubernetes.io/migrated-plugins';
/** In-tree plug-ins that the cluster serves by CSI drivers. Source: the kubelet's list. */
const MigratedPlugins = ['aws-ebs', 'azure-disk', 'azure-file', 'cinder', 'gce-pd', 'portworx-volume', 'vsphere-volume'];
const MaxInt32 = 0x7fff_ffff;

/** A CSINode of a node, without drivers. */
export function newCsiNode(nodeName: string, nodeUid: string): CSINode {
  return withMigratedPlugins({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: nodeName, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid }] },
    spec: { drivers: [] },
  });
}

/** A CSINode of the same name may be left of a node that was there before. */
export function isOwnedBy(csiNode: CSINode, nodeName: string, nodeUid: string): boolean {
  return (csiNode.metadata.ownerReferences ?? []).some((o) => o.kind === 'Node' && o.name === nodeName && o.uid === nodeUid);
}

/** The same object when there is nothing to change. */
export function withMigratedPlugins(csiNode: CSINode): CSINode {
  const wanted = MigratedPlugins.map((name) => `kubernetes.io/${name}`);
  const has = new Set((csiNode.metadata.annotations?.[MigratedPluginsAnnotation] ?? '').split(','));
  if (has.size === wanted.length && wanted.every((name) => has.has(name))) return csiNode;
  const annotations = { ...csiNode.metadata.annotations, [MigratedPluginsAnnotation]: wanted.join(',') };
  return { ...csiNode, metadata: { ...csiNode.metadata, annotations } };
}

/** With the driver's entry as it says it is; the same object when there is nothing to change. */
export function withDriver(csiNode: CSINode, driver: string, info: NodeInfo): CSINode {
  const drivers = csiNode.spec.drivers ?? [];
  const entry = driverEntry(driver, info);
  const known = drivers.find(({ name }) => name === driver);
  if (known !== undefined && isSame(known, entry)) return csiNode;
  return { ...csiNode, spec: { ...csiNode.spec, drivers: [...drivers.filter(({ name }) => name !== driver), entry] } };
}

/** The same object when the driver is not in it. */
export function withoutDriver(csiNode: CSINode, driver: string): CSINode {
  const drivers = csiNode.spec.drivers ?? [];
  const kept = drivers.filter(({ name }) => name !== driver);
  return kept.length === drivers.length ? csiNode : { ...csiNode, spec: { ...csiNode.spec, drivers: kept } };
}

function driverEntry(name: string, { nodeId, maxVolumes, topology }: NodeInfo): CSINodeDriver {
  const topologyKeys = Object.keys(topology).sort();
  // A limit below zero is none.
  const allocatable = maxVolumes > 0 ? { allocatable: { count: Math.min(maxVolumes, MaxInt32) } } : {};
  return { name, nodeID: nodeId, topologyKeys, ...allocatable };
}

function isSame(a: CSINodeDriver, b: CSINodeDriver): boolean {
  const keys = (driver: CSINodeDriver) => [...(driver.topologyKeys ?? [])].sort().join('\n');
  return a.nodeID === b.nodeID && keys(a) === keys(b) && a.allocatable?.count === b.allocatable?.count;
}

/**
 * The annotation with a driver's name for the node; `nodeId` undefined takes the driver out. Undefined: nothing to change;
 * null: the annotation goes. Throws when what stands there is no JSON object of texts.
 */
export function nodeIdAnnotation(before: string | undefined, driver: string, nodeId: string | undefined): string | null | undefined {
  const ids = parseIds(before);
  if (ids.get(driver) === nodeId) return undefined;
  if (nodeId === undefined) ids.delete(driver);
  else ids.set(driver, nodeId);
  return ids.size === 0 ? null : goJson(Object.fromEntries(ids));
}

function parseIds(text: string | undefined): Map<string, string> {
  if (text === undefined || text === '') return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (value === null) return new Map();
  const entries = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined;
  if (entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string') !== true) {
    throw new Error(
      `the node's annotation ${NodeIdAnnotation} is no JSON object of texts: ${JSON.stringify(text.slice(0, 200))}; remove the annotation`,
    );
  }
  return new Map(entries as [string, string][]);
}

/** Labels that the driver's topology adds to the node. Throws when one stands there with another value: it is not changed. */
export function topologyLabels(labels: StringMap | undefined, topology: Readonly<Record<string, string>>): StringMap {
  const added: StringMap = {};
  for (const [key, value] of Object.entries(topology)) {
    const current = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (current !== undefined && current !== value) {
      throw new Error(
        `detected topology value collision: driver reported ${JSON.stringify(key)}:${JSON.stringify(value)} ` +
          `but existing label is ${JSON.stringify(key)}:${JSON.stringify(current)}`,
      );
    }
    if (current === undefined) added[key] = value;
  }
  return added;
}
