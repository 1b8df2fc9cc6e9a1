import { bareContainerId } from '../api/container-id.ts';
import { isStaticPod } from '../api/pod.ts';
import { isSidecar } from '../api/restart.ts';
import type { Container, ContainerStatus, Pod } from '../api/types.ts';

/** What the probes say. Undefined: no result, because there is no such probe or because it has not run yet. */
export interface ProbeResults {
  readiness(containerName: string, containerId: string): boolean | undefined;
  started(containerName: string, containerId: string): boolean | undefined;
}

/**
 * Fills `started` and `ready` of init and regular containers (contract: pod-lifecycle.md §8). `keepReadyBefore` is an
 * RFC 3339 time: a container that ran before it keeps its readiness over a restart of the agent until its probe has run.
 */
export function withProbeResults(
  pod: Pod,
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  kind: 'init' | 'regular',
  probes: ProbeResults,
  keepReadyBefore: string | undefined,
): ContainerStatus[] {
  return statuses.map((status) => {
    const container = containers.find((c) => c.name === status.name);
    if (!container) return status;
    const started = isStarted(container, status, probes, keepReadyBefore);
    if (kind === 'init' && !isSidecar(container)) {
      return { ...status, started, ready: status.state?.terminated?.exitCode === 0 };
    }
    return { ...status, started, ready: started && isReady(pod, container, status, probes, keepReadyBefore) };
  });
}

function isStarted(container: Container, status: ContainerStatus, probes: ProbeResults, keepReadyBefore: string | undefined): boolean {
  if (!status.state?.running) return false;
  const result = probes.started(status.name, bareContainerId(status.containerID ?? ''));
  return result ?? (status.started === true || !container.startupProbe || ranBefore(status, keepReadyBefore));
}

function isReady(
  pod: Pod,
  container: Container,
  status: ContainerStatus,
  probes: ProbeResults,
  keepReadyBefore: string | undefined,
): boolean {
  const result = probes.readiness(status.name, bareContainerId(status.containerID ?? ''));
  if (result !== undefined) return result;
  if (!container.readinessProbe) return true;
  // What a static pod was before is written nowhere on the node: it is taken as ready until its probe says otherwise.
  const wasReady = isStaticPod(pod) || pod.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;
  return wasReady && ranBefore(status, keepReadyBefore);
}

/** The container ran well before the agent started. */
function ranBefore(status: ContainerStatus, keepReadyBefore: string | undefined): boolean {
  const startedAt = status.state?.running?.startedAt;
  return Boolean(keepReadyBefore && startedAt && Date.parse(startedAt) < Date.parse(keepReadyBefore));
}
