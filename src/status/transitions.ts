import { couldRestartAllContainers, isSidecar, restartsAfterExit } from '../api/restart.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../api/types.ts';

/**
 * What is wrong with going from `old` to `next`: a container that ended and may not start again has left its
 * terminated state. Undefined when nothing is. Source: contract pod-lifecycle.md §14, "illegal change".
 */
export function illegalTransition(pod: Pod, old: PodStatus, next: PodStatus): string | undefined {
  if (pod.spec.restartPolicy === 'Always' || couldRestartAllContainers(pod.spec)) return undefined;
  const ordinaryInit = (pod.spec.initContainers ?? []).filter((c) => !isSidecar(c));
  return (
    resurrected(pod, pod.spec.containers, old.containerStatuses, next.containerStatuses) ??
    resurrected(pod, ordinaryInit, old.initContainerStatuses, next.initContainerStatuses)
  );
}

function resurrected(
  pod: Pod,
  containers: readonly Container[],
  old: readonly ContainerStatus[] = [],
  next: readonly ContainerStatus[] = [],
): string | undefined {
  for (const { name, state } of old) {
    const container = containers.find((c) => c.name === name);
    if (!state?.terminated || !container || restartsAfterExit(container, pod.spec, state.terminated.exitCode)) continue;
    const now = next.find((s) => s.name === name);
    if (now && !now.state?.terminated) return `container ${JSON.stringify(name)} has ended for good and cannot leave its terminated state`;
  }
  return undefined;
}
