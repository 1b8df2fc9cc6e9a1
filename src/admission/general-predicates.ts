import { isStaticPod } from '../api/pod.ts';
import type { Pod, ResourceList, StringMap } from '../api/types.ts';
import { hasPortConflict } from './host-ports.ts';
import { matchesNode } from './node-affinity.ts';
import type { InsufficientResource } from './resource-fit.ts';
import { insufficientResources } from './resource-fit.ts';
import type { Taint } from './tolerations.ts';
import { untoleratedTaint } from './tolerations.ts';

/** What admission looks at of the node. */
export interface AdmissionNode {
  name: string;
  labels: StringMap;
  taints: readonly Taint[];
  allocatable: ResourceList;
  /** The runtime can leave out groups of the image (status.features.supplementalGroupsPolicy). */
  supportsStrictGroups: boolean;
}

/** Why a pod is refused: reason and message are read by other programs (contract events.md §6). */
export interface Rejection {
  reason: string;
  message: string;
  /** Set when only more room would help, which a critical pod may make. */
  insufficient?: InsufficientResource;
}

const OsLabel = 'kubernetes.io/os';
const NodeOs = 'linux';

/**
 * Everything that keeps a pod off this node, the first to be reported first; empty to admit it. `others` are the pods
 * that count, without this one. Source: vectors general-predicates.
 */
export function generalPredicates(pod: Pod, others: readonly Pod[], node: AdmissionNode): Rejection[] {
  const platform = platformFault(pod, node);
  if (platform !== undefined) return [platform];
  const found: Rejection[] = insufficientResources(pod, others, node.allocatable).map((lack) => ({
    reason: `OutOf${lack.resource}`,
    message: `Node didn't have enough resource: ${lack.resource}, requested: ${lack.requested}, used: ${lack.used}, capacity: ${lack.capacity}`,
    insufficient: lack,
  }));
  const predicate = (name: string, description: string) =>
    found.push({ reason: name, message: `Predicate ${name} failed: ${description}` });
  // The kubelet's own view of the label wins over what the node object has.
  if (!matchesNode(pod, { name: node.name, labels: { ...node.labels, [OsLabel]: NodeOs } }).match) {
    predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  }
  if (pod.spec.nodeName && pod.spec.nodeName !== node.name) predicate('NodeName', "node(s) didn't match the requested node name");
  if (hasPortConflict(pod, others)) predicate('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  if (!isStaticPod(pod) && untoleratedTaint(node.taints, pod.spec.tolerations ?? [], 'NoExecute') !== undefined) {
    predicate('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  }
  return found;
}

function platformFault(pod: Pod, node: AdmissionNode): Rejection | undefined {
  const labels = pod.metadata.labels ?? {};
  if (Object.hasOwn(labels, OsLabel) && labels[OsLabel] !== NodeOs) {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  if (pod.spec.os && pod.spec.os.name !== NodeOs) {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  if (pod.spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !node.supportsStrictGroups) {
    return {
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    };
  }
  return undefined;
}
