import type { Pod } from '../api/types.ts';

const NodeCritical = 2_000_001_000;
const NodeCriticalClass = 'system-node-critical';

/**
 * What to tell about a static pod's priority, undefined for nothing: the kubelet knows no priority classes, and a mirror
 * pod that the API server gives another priority cannot be made, or is evicted in vain (contract: pod-lifecycle.md §1).
 */
export function priorityWarning({ spec: { priority, priorityClassName = '' } }: Pod): string | undefined {
  if (priority === undefined) {
    return priorityClassName === ''
      ? undefined
      : 'A static pod names a priority class without a priority: the class is not used, and its mirror pod may be refused';
  }
  if (priorityClassName === '') return 'A static pod has a priority without a priority class: its mirror pod may be refused';
  if (priority === NodeCritical && priorityClassName === NodeCriticalClass) return undefined;
  return `A static pod has another priority than ${NodeCritical} of ${NodeCriticalClass}: its mirror pod may be evicted in vain`;
}
