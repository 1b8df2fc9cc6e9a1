import { isRestartableInitContainer } from '../api/pod.ts';
import { Quantity } from '../api/quantity.ts';
import { quantityOf } from '../api/resources.ts';
import type { Container, Pod } from '../api/types.ts';
import type { Observations, StarvedResource } from './observations.ts';
import { starvedResource } from './observations.ts';
import type { PodUsage } from './ranking.ts';
import type { Threshold } from './thresholds.ts';
import { thresholdQuantity } from './thresholds.ts';

/** The text of an eviction, and the annotations of its event. Other programs read both (contract: events.md §7). */
export interface EvictionMessage {
  message: string;
  annotations: Readonly<Record<string, string>>;
}

/** Why a pod is evicted for a threshold: what ran short, and which of its containers use more than they asked for. */
export function evictionMessage(
  resource: StarvedResource,
  pod: Pod,
  usage: PodUsage | undefined,
  thresholds: readonly Threshold[],
  observations: Observations,
): EvictionMessage {
  let message = `The node was low on resource: ${resource}. `;
  const threshold = thresholds.find(({ signal }) => starvedResource(signal) === resource);
  const seen = threshold === undefined ? undefined : observations.get(threshold.signal);
  if (threshold !== undefined && seen !== undefined) {
    message += `Threshold quantity: ${thresholdQuantity(threshold.value, seen.capacity)}, available: ${seen.available}. `;
  }
  const annotations: Record<string, string> = { starved_resource: resource };
  const podRequest = resource === 'memory' ? pod.spec.resources?.requests : undefined;
  if (usage !== undefined && podRequest !== undefined && podRequest !== null && Object.hasOwn(podRequest, 'memory')) {
    const used = binary(usage.memory?.workingSetBytes);
    const request = quantityOf(podRequest, 'memory');
    if (used !== undefined && used.cmp(request) > 0) {
      message += `Pod ${pod.metadata.name} was using ${used}, request is ${request}, has larger consumption of ${resource}. `;
      annotations['offending_pod'] = pod.metadata.name;
      annotations['offending_pod_usage'] = used.toString();
    }
  }
  const exceeding = usage === undefined ? [] : exceedingContainers(resource, pod, usage);
  for (const { name, used, request } of exceeding) {
    message += `Container ${name} was using ${used}, request is ${request}, has larger consumption of ${resource}. `;
  }
  annotations['offending_containers'] = exceeding.map(({ name }) => name).join(',');
  annotations['offending_containers_usage'] = exceeding.map(({ used }) => used).join(',');
  return { message, annotations };
}

function exceedingContainers(resource: StarvedResource, pod: Pod, usage: PodUsage) {
  const containers: Container[] = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isRestartableInitContainer)];
  return (usage.containers ?? []).flatMap((stats) => {
    const container = containers.find(({ name }) => name === stats.name);
    if (container === undefined) return [];
    const request = quantityOf(container.resources?.requests, resource);
    const used = containerUse(resource, stats);
    return used === undefined || used.cmp(request) <= 0
      ? []
      : [{ name: container.name, used: used.toString(), request: request.toString() }];
  });
}

function containerUse(resource: StarvedResource, stats: NonNullable<PodUsage['containers']>[number]): Quantity | undefined {
  if (resource === 'memory') return binary(stats.memory?.workingSetBytes);
  const { rootfs, logs } = stats;
  if (resource !== 'ephemeral-storage' || rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return binary(rootfs.usedBytes + logs.usedBytes);
}

function binary(bytes: number | undefined): Quantity | undefined {
  return bytes === undefined ? undefined : Quantity.of(Math.trunc(bytes), 'BinarySI');
}
