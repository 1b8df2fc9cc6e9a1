import { isCriticalPod } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { Rejection } from './general-predicates.ts';
import { podsToPreempt } from './preemption.ts';

/** One question that a pod must pass before it may run here. Pure, apart from what it closes over. */
export interface AdmissionCheck {
  readonly name: string;
  /** Why the node cannot take the pod beside `others`; undefined when this check has nothing against it. */
  admit(pod: Pod, others: readonly Pod[]): Rejection | undefined;
}

/** The pod may run once these others were stopped for it. */
export interface Preemption {
  preempt: readonly Pod[];
  /** The first resource that is missing. */
  resource: string;
  /** What would be said if nobody were stopped. */
  message: string;
}

export type AdmissionVerdict = Rejection | Preemption | undefined;

export interface AdmissionChain {
  /** Before the predicates, in the contract's order: pressure, sysctls, resource managers. */
  before: readonly AdmissionCheck[];
  /** Everything that speaks against the pod, resources first. */
  predicates(pod: Pod, others: readonly Pod[]): Rejection[];
  /** After the predicates: AppArmor, features, shutdown. */
  after: readonly AdmissionCheck[];
}

export const UNEXPECTED_ADMISSION_ERROR = 'UnexpectedAdmissionError';

/**
 * Asks the checks one after another; the first that refuses is the reason. For a critical pod that lacks only room the
 * answer is whom to stop, and that only when nothing else speaks against it, so that nobody is stopped in vain.
 * Source: contract events.md §6, pod-lifecycle.md §19.
 */
export function admitPod({ before, predicates, after }: AdmissionChain, pod: Pod, others: readonly Pod[]): AdmissionVerdict {
  const refused = firstRefusal(before, pod, others);
  if (refused !== undefined) return refused;
  const room = roomFor(pod, others, predicates(pod, others));
  if (room !== undefined && !('preempt' in room)) return room;
  return firstRefusal(after, pod, others) ?? room;
}

function firstRefusal(checks: readonly AdmissionCheck[], pod: Pod, others: readonly Pod[]): Rejection | undefined {
  for (const check of checks) {
    const rejection = check.admit(pod, others);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function roomFor(pod: Pod, others: readonly Pod[], found: readonly Rejection[]): AdmissionVerdict {
  const [first] = found;
  if (first === undefined || !isCriticalPod(pod)) return first;
  const lacks = found.flatMap(({ insufficient }) => (insufficient === undefined ? [] : [insufficient]));
  const other = found.find(({ insufficient }) => insufficient === undefined);
  if (other !== undefined || lacks[0] === undefined) return other ?? first;
  const preempt = podsToPreempt(pod, others, lacks);
  if (preempt !== undefined) return { preempt, resource: lacks[0].resource, message: first.message };
  const missing = lacks.map(({ resource, requested, used, capacity }) => `(res: ${resource}, q: ${requested - (capacity - used)}), `);
  return {
    reason: UNEXPECTED_ADMISSION_ERROR,
    message:
      'Unexpected error while attempting to recover from admission failure: ' +
      `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${missing.join('')}]`,
  };
}

/** Reasons that kubelet_admission_rejections_total names; others are counted together. */
const KnownReasons = new Set([
  'AppArmor',
  'Evicted',
  'InvalidNodeInfo',
  'NodeAffinity',
  'NodeName',
  'NodePorts',
  'NodeShutdown',
  'OutOfcpu',
  'OutOfephemeral-storage',
  'OutOfmemory',
  'OutOfpods',
  'PodFeatureUnsupported',
  'PodLevelResourcesNotSupported',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'SMTAlignmentError',
  'SupplementalGroupsPolicyNotSupported',
  'SysctlForbidden',
  'TaintToleration',
  'TopologyAffinityError',
  UNEXPECTED_ADMISSION_ERROR,
  'UnexpectedPredicateFailureType',
  'UnknownReason',
]);

/** The label that a rejection is counted under (contract: metrics.md). */
export function rejectionLabel(reason: string): string {
  if (KnownReasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}
