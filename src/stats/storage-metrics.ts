import type { Pod } from '../api/types.ts';
import type { VolumeUsage } from '../volumes/usage.ts';
import { exposition, type MetricFamily, type Sample } from './exposition.ts';
import type { PodLogs } from './pod-disk.ts';

export interface StorageMetricsDeps {
  pods(): readonly Pod[];
  volumes(uid: string): readonly VolumeUsage[];
  /** Sizes of the containers' logs, of every pod that runs something. */
  logs(): Promise<readonly PodLogs[]>;
}

type Figure = Exclude<keyof VolumeUsage, 'volume' | 'plugin' | 'claim' | 'measuredAtMs' | 'isPartial'>;

const volumeMetrics: readonly [string, string, Figure][] = [
  ['kubelet_volume_stats_capacity_bytes', 'Capacity in bytes of the volume', 'capacityBytes'],
  ['kubelet_volume_stats_available_bytes', 'Number of available bytes in the volume', 'availableBytes'],
  ['kubelet_volume_stats_used_bytes', 'Number of used bytes in the volume', 'usedBytes'],
  ['kubelet_volume_stats_inodes', 'Maximum number of inodes in the volume', 'inodes'],
  ['kubelet_volume_stats_inodes_free', 'Number of free inodes in the volume', 'inodesFree'],
  ['kubelet_volume_stats_inodes_used', 'Number of used inodes in the volume', 'inodesUsed'],
];

/** The part of /metrics about claims and logs (contract metrics.md §1a). A claim that several pods use is told once. */
export async function storageMetrics({ pods, volumes, logs }: StorageMetricsDeps): Promise<string> {
  const claims = new Map<string, VolumeUsage & { claim: { namespace: string; name: string } }>();
  for (const pod of pods()) {
    for (const { claim, ...usage } of volumes(pod.metadata.uid)) {
      if (claim !== undefined) claims.set(`${claim.namespace}/${claim.name}`, { ...usage, claim });
    }
  }
  const families = volumeMetrics.map(
    ([name, help, figure]): MetricFamily => ({
      name,
      help: `[ALPHA] ${help}`,
      type: 'gauge',
      samples: [...claims.values()].flatMap(({ claim, [figure]: value }): Sample[] =>
        value === undefined ? [] : [{ labels: { namespace: claim.namespace, persistentvolumeclaim: claim.name }, value }],
      ),
    }),
  );
  const sizes: MetricFamily = {
    name: 'kubelet_container_log_filesystem_used_bytes',
    help: "[ALPHA] Bytes used by the container's logs on the filesystem.",
    type: 'gauge',
    samples: (await logs()).flatMap(({ uid, namespace, pod, containers }) =>
      [...containers].map(([container, { bytes }]) => ({ labels: { uid, namespace, pod, container }, value: bytes })),
    ),
  };
  return exposition([...families, sizes]);
}
