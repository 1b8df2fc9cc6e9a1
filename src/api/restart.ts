import { isRestartableInitContainer } from './pod.ts';
import type { Container, ContainerRestartRule, Pod, PodSpec, PodStatus } from './types.ts';

/** One container as the runtime reported it: the part that a restart decision reads. An `ObservedContainer` is one. */
export interface RuntimeRecord {
  readonly name: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly status: { readonly exitCode: number };
}

/** Waiting and terminated reason of containers that a `RestartAllContainers` rule removed (contract: events.md §4). */
export const RestartingAllContainers = 'RestartingAllContainers';

/** True for an init container that keeps running beside the regular ones. */
export const isSidecar = isRestartableInitContainer;

/** The first of the container's rules that matches `exitCode`. A rule without exit codes or with an unknown operator never does. */
export function matchingRestartRule(container: Container, exitCode: number): ContainerRestartRule | undefined {
  for (const rule of container.restartPolicyRules ?? []) {
    if (!rule.exitCodes) continue;
    const listed = (rule.exitCodes.values ?? []).includes(exitCode);
    const { operator } = rule.exitCodes;
    if ((operator === 'In' && listed) || (operator === 'NotIn' && !listed)) return rule;
  }
  return undefined;
}

/**
 * Whether a container that ended with `exitCode` is to run again: its own rules, then its own policy, then the pod's
 * (contract: pod-lifecycle.md §5). Rules count only beside a container policy; an unknown action or policy falls through.
 */
export function restartsAfterExit(container: Container, spec: Pick<PodSpec, 'restartPolicy'>, exitCode: number): boolean {
  if (typeof container.restartPolicy === 'string') {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === 'Restart' || action === 'RestartAllContainers') return true;
    const byContainer = byPolicy(container.restartPolicy, exitCode);
    if (byContainer !== undefined) return byContainer;
  }
  return byPolicy(spec.restartPolicy, exitCode) ?? true;
}

function byPolicy(policy: string | undefined, exitCode: number): boolean | undefined {
  switch (policy) {
    case 'Always':
      return true;
    case 'OnFailure':
      return exitCode !== 0;
    case 'Never':
      return false;
    default:
      return undefined;
  }
}

/** The newest record of `name`. `records` are newest first, of any container of the pod. */
export function newestRecord<T extends RuntimeRecord>(records: readonly T[], name: string): T | undefined {
  return records.find((r) => r.name === name);
}

/**
 * Whether `container` is to be started by the next sync. `records` are the pod's containers, newest first; `deleting`
 * is true once the pod has a deletion timestamp (contract: pod-lifecycle.md §5, "Restart decision").
 */
export function shouldRestart(pod: Pod, container: Container, records: readonly RuntimeRecord[], deleting: boolean): boolean {
  if (deleting) return false;
  const newest = newestRecord(records, container.name);
  if (!newest) return true;
  switch (newest.state) {
    case 'running':
      return false;
    case 'created':
    case 'unknown':
      return true;
    case 'exited':
      return restartsAfterExit(container, pod.spec, newest.status.exitCode);
  }
}

/** True when some rule of the pod could restart all its containers. */
export function couldRestartAllContainers(spec: PodSpec): boolean {
  return allRestartable(spec).some((c) => (c.restartPolicyRules ?? []).some((r) => r.action === 'RestartAllContainers'));
}

/**
 * True while all containers are to be removed and started anew: the condition says it is under way, or the newest end
 * of a container, seen by the runtime or kept in the last status, matches a `RestartAllContainers` rule.
 */
export function shouldRestartAllContainers(pod: Pod, records: readonly RuntimeRecord[], previous: PodStatus | undefined): boolean {
  if (previous?.conditions?.some((c) => c.type === 'AllContainersRestarting' && c.status === 'True')) return true;
  if (!couldRestartAllContainers(pod.spec)) return false;
  const known = new Map([...(previous?.initContainerStatuses ?? []), ...(previous?.containerStatuses ?? [])].map((s) => [s.name, s]));
  return allRestartable(pod.spec).some((container) => {
    // A container that the runtime does not show as exited has begun anew: what the last status says of it is history.
    const record = newestRecord(records, container.name);
    if (record?.state !== 'exited') return false;
    const ends = [record.status.exitCode, known.get(container.name)?.state?.terminated?.exitCode];
    return ends.some((code) => code !== undefined && matchingRestartRule(container, code)?.action === 'RestartAllContainers');
  });
}

/** True when nothing of the pod's restartable containers is left in the runtime, so that all of them can start anew. */
export function restartAllCleanedUp(pod: Pod, records: readonly RuntimeRecord[]): boolean {
  return allRestartable(pod.spec).every((c) => newestRecord(records, c.name) === undefined);
}

function allRestartable(spec: PodSpec): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}
