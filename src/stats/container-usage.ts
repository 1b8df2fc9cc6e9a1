import { ContainerNameLabel, PodUidLabel } from '../api/annotations.ts';
import type { ContainerStatus, Pod } from '../api/types.ts';
import type { ContainerStats } from '../cri/types.ts';

/** What the runtime measured of a pod's running containers. */
export interface PodUsage {
  pod: Pod;
  containers: { name: string; stats: ContainerStats; status: ContainerStatus | undefined }[];
}

/** The statistics by pod. Those of pods that the agent does not know, and of instances that are over, are left out. */
export function usageByPod(pods: readonly Pod[], stats: readonly ContainerStats[]): PodUsage[] {
  const byUid = Map.groupBy(stats, (s) => s.labels[PodUidLabel] ?? '');
  return pods.flatMap((pod) => {
    const statuses = [
      ...(pod.status?.containerStatuses ?? []),
      ...(pod.status?.initContainerStatuses ?? []),
      ...(pod.status?.ephemeralContainerStatuses ?? []),
    ];
    const containers = (byUid.get(pod.metadata.uid) ?? []).flatMap((s) => {
      const name = s.labels[ContainerNameLabel] ?? s.metadata.name;
      const status = statuses.find((c) => c.name === name);
      const current = status?.containerID?.replace(/^[^:]*:\/\//, '');
      return current === undefined || current === s.id ? [{ name, stats: s, status }] : [];
    });
    return containers.length === 0 ? [] : [{ pod, containers }];
  });
}

/** The sum over all that have a value; undefined when none has. */
export function sum<T extends number | bigint>(values: readonly (T | undefined)[]): number | undefined {
  const known = values.filter((v) => v !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, v) => total + Number(v), 0);
}

/** The newest of the times, in nanoseconds. */
export function newest(times: readonly (bigint | undefined)[]): bigint {
  return times.reduce<bigint>((last, t) => (t !== undefined && t > last ? t : last), 0n);
}
