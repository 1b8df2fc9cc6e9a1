import { getPodQOS } from '../../api/qos.ts';
import { isPodLevelResourcesSet, quantityOf } from '../../api/resources.ts';
import { isSidecar } from '../../api/restart.ts';
import type { Container, Pod } from '../../api/types.ts';

/** Init containers in their order, then the regular ones. */
export function managedContainers(pod: Pick<Pod, 'spec'>): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

/**
 * How many CPUs a container gets for itself: its request where the pod is Guaranteed and the request a whole number, else 0. Pods with
 * resources of their own get none (gate PodLevelResourceManagers is off). Source: contract node.md §5.
 */
export function guaranteedCpus(pod: Pick<Pod, 'spec' | 'status'>, container: Container): number {
  if (getPodQOS(pod) !== 'Guaranteed' || isPodLevelResourcesSet(pod)) return 0;
  const milli = quantityOf(container.resources?.requests, 'cpu').milliValue();
  return milli % 1000n === 0n ? Number(milli / 1000n) : 0;
}

/** The most CPUs that a pod's containers own at a time: sidecars beside each init container, and beside all regular ones. */
export function podGuaranteedCpus(pod: Pick<Pod, 'spec' | 'status'>): number {
  let sidecars = 0;
  let whileStarting = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const cpus = guaranteedCpus(pod, container);
    if (isSidecar(container)) sidecars += cpus;
    else whileStarting = Math.max(whileStarting, sidecars + cpus);
  }
  const running = pod.spec.containers.reduce((sum, container) => sum + guaranteedCpus(pod, container), sidecars);
  return Math.max(whileStarting, running);
}
