import type { Pod, PodCondition, PodStatus } from '../api/types.ts';
import { isTerminalPhase } from './compute.ts';
import { DisruptionTarget, KubeletConditions } from './conditions.ts';
import { datedCondition } from './normalize.ts';

/**
 * What to write over `api`, the status that the API server holds: `computed`, with the conditions of others and the
 * claim statuses kept from `api`, and a terminal phase (with its DisruptionTarget) held back while a container may still
 * run: whoever sees the pod ended may hand its resources on. Source: contract pod-lifecycle.md §14, events.md §9.
 */
export function mergeForApi(pod: Pod, api: PodStatus, computed: PodStatus, mayRun: boolean, nowIso: string): PodStatus {
  const ending = !isTerminalPhase(api.phase) && isTerminalPhase(computed.phase);
  const merged: PodStatus = { ...computed };
  const conditions = (api.conditions ?? []).filter((c) => !KubeletConditions.has(c.type));
  for (const c of computed.conditions ?? []) {
    if (KubeletConditions.has(c.type)) conditions.push(c);
    else if (c.type === DisruptionTarget && ending && !mayRun) replace(conditions, datedCondition(c, api.conditions, nowIso));
  }
  merged.conditions = conditions;
  for (const key of foreignFields) keep(merged, api, key);
  if (ending && mayRun) {
    for (const key of ['phase', 'reason', 'message'] as const) keep(merged, api, key);
  }
  return isTerminalPhase(merged.phase) ? unready(pod, api, merged, nowIso) : merged;
}

/** Fields of a pod's status that others own. */
const foreignFields = ['resourceClaimStatuses', 'extendedResourceClaimStatus', 'nodeAllocatableResourceClaimStatuses'];

function keep(merged: PodStatus, api: PodStatus, key: string): void {
  const target = merged as Record<string, unknown>;
  const value = (api as Record<string, unknown>)[key];
  if (value === undefined) delete target[key];
  else target[key] = value;
}

/** Nothing that has ended is ready, whatever the probes last said. */
function unready(pod: Pod, api: PodStatus, status: PodStatus, nowIso: string): PodStatus {
  const conditions = [...(status.conditions ?? [])];
  const ready = (type: string) => conditions.some((c) => c.type === type && c.status === 'True');
  if (!ready('Ready') && !ready('ContainersReady')) return status;
  const reason = status.phase === 'Failed' ? 'PodFailed' : 'PodCompleted';
  const { generation } = pod.metadata;
  for (const type of ['ContainersReady', 'Ready']) {
    const draft: PodCondition = { type, status: 'False', reason, ...(generation ? { observedGeneration: generation } : {}) };
    replace(conditions, datedCondition(draft, api.conditions, nowIso));
  }
  return { ...status, conditions };
}

function replace(conditions: PodCondition[], condition: PodCondition): void {
  const at = conditions.findIndex((c) => c.type === condition.type);
  if (at < 0) conditions.push(condition);
  else conditions[at] = condition;
}
