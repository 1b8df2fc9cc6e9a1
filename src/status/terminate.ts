import { isStaticPod } from '../api/pod.ts';
import { isSidecar } from '../api/restart.ts';
import type { ContainerStatus, Pod, PodStatus } from '../api/types.ts';
import { isTerminalPhase } from './compute.ts';

/**
 * The last status of a pod: containers whose end nobody saw count as failed (exit code 137), and the phase becomes
 * terminal; a static pod's phase stays, since it may start again. Source: contract pod-lifecycle.md §4, SyncTerminatedPod 7.
 */
export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const last: PodStatus = { ...status };
  if (status.containerStatuses && (hasInitialized(pod, status) || (pod.status && hasInitialized(pod, pod.status)))) {
    last.containerStatuses = status.containerStatuses.map(ended);
  }
  if (status.initContainerStatuses) {
    const begun = countBegun(status.initContainerStatuses);
    last.initContainerStatuses = status.initContainerStatuses.map((s, i) => (i < begun ? ended(s) : s));
  }
  if (!isStaticPod(pod) && !isTerminalPhase(status.phase)) last.phase = 'Failed';
  return last;
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated) return status;
  const message = 'The container could not be located when the pod was terminated';
  return {
    ...status,
    state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message, startedAt: null, finishedAt: null } },
  };
}

/** False when nothing shows that a regular container could ever begin: then waiting is the truth about them. */
function hasInitialized(pod: Pod, status: PodStatus): boolean {
  const init = pod.spec.initContainers ?? [];
  if (init.length === 0) return true;
  if (status.containerStatuses?.some((s) => s.lastState?.terminated || !s.state?.waiting)) return true;
  const last = status.initContainerStatuses?.at(-1);
  const container = init.find((c) => c.name === last?.name);
  if (!last || !container || status.initContainerStatuses?.length !== init.length) return false;
  if (isSidecar(container)) return Boolean(last.state?.running) && last.started === true;
  return last.lastState?.terminated?.exitCode === 0 || last.state?.terminated?.exitCode === 0;
}

/** How many init containers, from the first, were tried: those after the last tried one only waited. At least one. */
function countBegun(statuses: readonly ContainerStatus[]): number {
  return Math.max(1, statuses.findLastIndex((s) => !s.state?.waiting || s.lastState?.terminated) + 1);
}
