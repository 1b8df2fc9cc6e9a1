import { isSidecar, type RuntimeRecord, restartAllCleanedUp, shouldRestartAllContainers } from '../api/restart.ts';
import { type SandboxRecord, sandboxVerdict } from '../api/sandbox.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodPhase, PodStatus } from '../api/types.ts';
import { goQuote } from '../compat/go-text.ts';

/** Conditions that only the kubelet writes; others of a pod are kept as they are. */
export const KubeletConditions: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
]);

/** The condition that the kubelet shares with others: set once, never cleared. */
export const DisruptionTarget = 'DisruptionTarget';

/** Statuses of init and regular containers together, in any order; undefined when nothing is known of them. */
export type KnownStatuses = readonly ContainerStatus[] | undefined;

type Draft = Omit<PodCondition, 'observedGeneration'>;

/** `ContainersReady`: all sidecars and regular containers are ready. Source: contract events.md §9. */
export function containersReadyCondition(pod: Pod, statuses: KnownStatuses, phase: PodPhase): PodCondition {
  return observed(pod, containersReady(pod, statuses, phase));
}

/** `Ready`: ContainersReady, and every readiness gate is "True" among `conditions`. */
export function readyCondition(pod: Pod, conditions: readonly PodCondition[], statuses: KnownStatuses, phase: PodPhase): PodCondition {
  const containers = containersReady(pod, statuses, phase);
  if (containers.status !== 'True') return observed(pod, { ...containers, type: 'Ready' });
  const faults: string[] = [];
  for (const { conditionType } of pod.spec.readinessGates ?? []) {
    const gate = conditions.find((c) => c.type === conditionType);
    const name = goQuote(conditionType);
    if (!gate) faults.push(`corresponding condition of pod readiness gate ${name} does not exist.`);
    else if (gate.status !== 'True') faults.push(`the status of pod readiness gate ${name} is not "True", but ${gate.status}`);
  }
  if (faults.length === 0) return observed(pod, { type: 'Ready', status: 'True' });
  return observed(pod, { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', message: faults.join(', ') });
}

/** `Initialized`: every init container has done its part, or a regular one began. Once True it stays, even while all containers restart. */
export function initializedCondition(pod: Pod, previous: PodStatus | undefined, statuses: KnownStatuses, phase: PodPhase): PodCondition {
  return observed(pod, initialized(pod, previous, statuses, phase));
}

/** `PodReadyToStartContainers`: the newest sandbox (`sandboxes` are newest first) can be used as it is. */
export function readyToStartContainersCondition(pod: Pod, sandboxes: readonly SandboxRecord[]): PodCondition {
  const type = 'PodReadyToStartContainers';
  const verdict = sandboxVerdict(pod, sandboxes);
  if (!verdict.changed) return observed(pod, { type, status: 'True' });
  return observed(pod, { type, status: 'False', reason: 'PodSandboxNotReady', message: verdict.message });
}

/** `PodScheduled`: a pod that reached a node was scheduled. */
export function scheduledCondition(pod: Pod): PodCondition {
  return observed(pod, { type: 'PodScheduled', status: 'True' });
}

/** `AllContainersRestarting`; only for pods with such a rule (`couldRestartAllContainers`). Carries no generation. */
export function allContainersRestartingCondition(
  pod: Pod,
  records: readonly RuntimeRecord[],
  previous: PodStatus | undefined,
  phase: PodPhase,
): PodCondition {
  const type = 'AllContainersRestarting';
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  if (!shouldRestartAllContainers(pod, records, previous) || restartAllCleanedUp(pod, records)) return { type, status: 'False' };
  return { type, status: 'True', reason: 'RestartAllContainersStarted', message: 'container exited with restart policy rule' };
}

function containersReady(pod: Pod, statuses: KnownStatuses, phase: PodPhase): Draft {
  const type = 'ContainersReady';
  if (!statuses) return { type, status: 'False', reason: 'UnknownContainerStatuses' };
  const serving = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const { unknown, lacking } = sift(serving, statuses, (_, s) => s.ready);
  // A failed pod is never ready, even while its containers are still on their way down.
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'False', reason: 'PodCompleted' };
  const message = listFaults(unknown, 'unready', lacking);
  if (message === '') return { type, status: 'True' };
  return { type, status: 'False', reason: 'ContainersNotReady', message };
}

function initialized(pod: Pod, previous: PodStatus | undefined, statuses: KnownStatuses, phase: PodPhase): Draft {
  const type = 'Initialized';
  const init = pod.spec.initContainers ?? [];
  if (!statuses && init.length > 0) return { type, status: 'False', reason: 'UnknownContainerStatuses' };
  const known = statuses ?? [];
  const { unknown, lacking } = sift(init, known, (c, s) => (isSidecar(c) ? s.started === true : s.ready));
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'True', reason: 'PodCompleted' };
  const message = listFaults(unknown, 'incomplete', lacking);
  const stays = previous?.conditions?.some((c) => c.type === type && c.status === 'True') === true;
  if (message === '' || stays || anyRegularContainerStarted(pod, known)) return { type, status: 'True' };
  return { type, status: 'False', reason: 'ContainersNotInitialized', message };
}

/** True when the statuses show a regular container running or ended. */
export function anyRegularContainerStarted(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  const names = new Set(pod.spec.containers.map((c) => c.name));
  return statuses.some((s) => names.has(s.name) && (s.state?.running !== undefined || s.state?.terminated !== undefined));
}

/** Splits `containers` by name: without a status, and with one that does not pass. */
function sift(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  passes: (c: Container, s: ContainerStatus) => boolean,
) {
  const unknown: string[] = [];
  const lacking: string[] = [];
  for (const c of containers) {
    const status = statuses.find((s) => s.name === c.name);
    if (!status) unknown.push(c.name);
    else if (!passes(c, status)) lacking.push(c.name);
  }
  return { unknown, lacking };
}

function listFaults(unknown: string[], word: string, lacking: string[]): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: [${unknown.join(' ')}]`);
  if (lacking.length > 0) parts.push(`containers with ${word} status: [${lacking.join(' ')}]`);
  return parts.join(', ');
}

function observed(pod: Pod, draft: Draft): PodCondition {
  const { generation } = pod.metadata;
  return generation ? { ...draft, observedGeneration: generation } : { ...draft };
}
