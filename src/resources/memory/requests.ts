import { getPodQOS } from '../../api/qos.ts';
import { isMemoryResource } from '../../api/resource-names.ts';
import { isPodLevelResourcesSet, resourcesOf } from '../../api/resources.ts';
import { isSidecar } from '../../api/restart.ts';
import type { Container, Pod } from '../../api/types.ts';

/** Bytes by kind of memory. */
export type MemoryRequest = ReadonlyMap<string, number>;

/**
 * What a container gets for itself: the memory and huge pages it asks for, where its pod is Guaranteed; else nothing. Pods with resources of
 * their own get none (gate PodLevelResourceManagers is off). Throws for an amount that is no whole number of bytes.
 */
export function guaranteedMemory(pod: Pick<Pod, 'spec' | 'status'>, container: Container): MemoryRequest {
  const request = new Map<string, number>();
  if (getPodQOS(pod) !== 'Guaranteed' || isPodLevelResourcesSet(pod)) return request;
  for (const [name, quantity] of [...resourcesOf(container.resources?.requests)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!isMemoryResource(name)) continue;
    if (quantity.milliValue() % 1000n !== 0n)
      throw new Error(`[memorymanager] ${name} of container ${container.name} is no whole number of bytes`);
    request.set(name, Number(quantity.value()));
  }
  return request;
}

/** The most that a pod's containers have at a time: sidecars beside each init container, and beside all regular ones. */
export function podGuaranteedMemory(pod: Pick<Pod, 'spec' | 'status'>): MemoryRequest {
  const sidecars = new Map<string, number>();
  const whileStarting = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, size] of guaranteedMemory(pod, container)) {
      const beside = (sidecars.get(name) ?? 0) + size;
      if (isSidecar(container)) sidecars.set(name, beside);
      else whileStarting.set(name, Math.max(whileStarting.get(name) ?? 0, beside));
    }
  }
  const running = new Map<string, number>();
  for (const container of pod.spec.containers) {
    for (const [name, size] of guaranteedMemory(pod, container)) running.set(name, (running.get(name) ?? 0) + size);
  }
  return new Map([...running].map(([name, size]) => [name, Math.max(size + (sidecars.get(name) ?? 0), whileStarting.get(name) ?? 0)]));
}
