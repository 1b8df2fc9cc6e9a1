import type { StringMap } from '../api/types.ts';
import type { Node, Taint } from '../kube/types.ts';
import type { NodeNote } from './conditions.ts';
import { type NodeFacts, withStatus } from './status.ts';

/** What the node is registered with, of flags and configuration. */
export interface NodeIdentity {
  name: string;
  hostname: string;
  /** GOARCH spelling. */
  architecture: string;
  /** --node-labels */
  labels: StringMap;
  registerWithTaints: readonly Taint[];
  providerID: string;
  cloudExternal: boolean;
  enableControllerAttachDetach: boolean;
}

export const HostnameLabel = 'kubernetes.io/hostname';
export const OsLabel = 'kubernetes.io/os';
export const ArchLabel = 'kubernetes.io/arch';
export const AttachDetachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
const Os = 'linux';

/** Labels that a node which exists already is brought in line with. Contract node.md §1. */
const defaultLabels = [
  HostnameLabel,
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  OsLabel,
  ArchLabel,
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

/** The labels of a new node: --node-labels win over the defaults. */
export function nodeLabels({ hostname, architecture, labels }: NodeIdentity): StringMap {
  return {
    [HostnameLabel]: hostname,
    [OsLabel]: Os,
    [ArchLabel]: architecture,
    'beta.kubernetes.io/os': Os,
    'beta.kubernetes.io/arch': architecture,
    ...labels,
  };
}

/** The taints of a new node; those of one that exists are never touched. */
export function nodeTaints({ registerWithTaints, cloudExternal }: NodeIdentity): Taint[] {
  const uninitialized: Taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
  return [...registerWithTaints, ...(cloudExternal ? [uninitialized] : [])];
}

/** The Node as it is created, with its status, and what is to be told of it. Source: contract node.md §1. */
export function newNode(identity: NodeIdentity, facts: NodeFacts): { node: Node; notes: NodeNote[] } {
  const taints = nodeTaints(identity);
  const bare: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: identity.name,
      labels: nodeLabels(identity),
      ...(identity.enableControllerAttachDetach ? { annotations: { [AttachDetachAnnotation]: 'true' } } : {}),
    },
    spec: {
      ...(taints.length === 0 ? {} : { taints }),
      ...(identity.providerID === '' ? {} : { providerID: identity.providerID }),
    },
    status: {},
  };
  return withStatus(bare, facts);
}

/**
 * A Node that was there before, as it should be: default labels, attach-detach annotation, status. Everything else is
 * its owners'. `zeroExtended`: the devices that its extended resources stand for are not known any more.
 */
export function reconciledNode(
  existing: Node,
  identity: NodeIdentity,
  facts: NodeFacts,
  zeroExtended = false,
): { node: Node; notes: NodeNote[] } {
  const wanted = nodeLabels(identity);
  const labels = { ...existing.metadata.labels };
  for (const key of defaultLabels) {
    const value = Object.hasOwn(wanted, key) ? wanted[key] : undefined;
    if (value === undefined) continue;
    if (value === '') delete labels[key];
    else labels[key] = value;
  }
  const annotations = { ...existing.metadata.annotations };
  if (identity.enableControllerAttachDetach) annotations[AttachDetachAnnotation] = 'true';
  else delete annotations[AttachDetachAnnotation];
  return withStatus({ ...existing, metadata: { ...existing.metadata, labels, annotations } }, facts, zeroExtended);
}

/** The two labels that are put right at every status, whoever took them away. */
export function withRequiredLabels(node: Node, { architecture }: Pick<NodeIdentity, 'architecture'>): Node {
  const { labels = {} } = node.metadata;
  if (labels[OsLabel] === Os && labels[ArchLabel] === architecture) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, [OsLabel]: Os, [ArchLabel]: architecture } } };
}
