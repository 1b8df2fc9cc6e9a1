import { isStaticPod } from '../api/pod.ts';
import { isSidecar, RestartingAllContainers, restartsAfterExit } from '../api/restart.ts';
import type { Container, ContainerStateTerminated, ContainerStatus, Pod, PodPhase } from '../api/types.ts';

export interface PhaseContext {
  /** The worker has ended the pod: nothing will be started again. */
  podIsTerminal: boolean;
  /** A regular container was started in the pod's active sandbox, so all init containers have done their part. */
  podHasInitialized: boolean;
}

/** What a container does, as far as the phase cares. `stopped` includes waiting after an end (a crash loop stays Running). */
type Activity =
  | { kind: 'missing' | 'running' | 'waiting' | 'unknown' }
  | { kind: 'stopped'; mayRestart: boolean; exitCode: number; current: boolean };

/**
 * The phase of a pod from the statuses of its init and regular containers (in any order). Does not know of earlier
 * phases: `computePodStatus` keeps a terminal one. Source: contract pod-lifecycle.md §14, first matching row.
 */
export function podPhase(pod: Pod, statuses: readonly ContainerStatus[], context: PhaseContext): PodPhase {
  const byName = new Map<string, ContainerStatus>();
  for (const s of statuses) if (!byName.has(s.name)) byName.set(s.name, s);
  const activityOf = (c: Container) => activity(pod, c, byName.get(c.name));

  const init = pod.spec.initContainers ?? [];
  const ordinary = init.filter((c) => !isSidecar(c)).map(activityOf);
  const sidecars = init.filter(isSidecar).map((c) => ({ activity: activityOf(c), started: byName.get(c.name)?.started === true }));
  const regular = pod.spec.containers.map(activityOf);

  if (ordinary.some((a) => a.kind === 'stopped' && a.exitCode !== 0 && !a.mayRestart)) return 'Failed';
  if (ordinary.some((a) => a.kind !== 'stopped')) return 'Pending';
  if (!context.podHasInitialized && sidecars.some((s) => startsStill(s.activity, s.started))) return 'Pending';

  // A sidecar that ended counts neither as stopped nor as unknown: it does not decide the phase.
  const deciding = [...regular, ...sidecars.map((s) => s.activity).filter((a) => a.kind !== 'stopped')];
  if (deciding.some((a) => a.kind === 'waiting')) return 'Pending';
  if (deciding.some((a) => a.kind === 'unknown' || a.kind === 'missing')) return 'Pending';
  if (deciding.some((a) => a.kind === 'running')) return 'Running';

  const stopped = regular.filter((a) => a.kind === 'stopped');
  if (stopped.length === 0) return 'Pending';
  const ended = stopped.every((a) => a.current && a.exitCode === 0) ? 'Succeeded' : 'Failed';
  if (context.podIsTerminal && !isStaticPod(pod)) return ended;
  return stopped.some((a) => a.mayRestart) ? 'Running' : ended;
}

function activity(pod: Pod, container: Container, status: ContainerStatus | undefined): Activity {
  if (!status) return { kind: 'missing' };
  if (status.state?.running) return { kind: 'running' };
  if (status.state?.terminated) return stopped(pod, container, status.state.terminated, true);
  if (!status.state?.waiting) return { kind: 'unknown' };
  const last = status.lastState?.terminated;
  return last ? stopped(pod, container, last, false) : { kind: 'waiting' };
}

function stopped(pod: Pod, container: Container, end: ContainerStateTerminated, current: boolean): Activity {
  const mayRestart = end.reason === RestartingAllContainers || restartsAfterExit(container, pod.spec, end.exitCode);
  return { kind: 'stopped', mayRestart, exitCode: end.exitCode, current };
}

/** A sidecar without any status does not hold the pod in Pending by this rule; the unknown one does later. */
function startsStill(a: Activity, started: boolean): boolean {
  return a.kind === 'waiting' || a.kind === 'unknown' || (a.kind === 'running' && !started);
}
