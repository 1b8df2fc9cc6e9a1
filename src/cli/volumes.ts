import { posix } from 'node:path';
import type { Pod, ResourceList, StringMap } from '../api/types.ts';
import { systemClock } from '../host/clock.ts';
import { FileThreads } from '../host/file-threads/file-threads.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeMounts } from '../host/mounts.ts';
import { nodeOwnedFiles } from '../host/owned-files.ts';
import { systemRandom } from '../host/random.ts';
import { nodeTools } from '../host/tools.ts';
import { volumeFeatures } from '../host/volume-features.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { containerOf, metadataField, resourceField } from '../sync/downward.ts';
import { expandSubPath } from '../sync/env-expansion.ts';
import { VolumeManager } from '../volumes/manager.ts';
import type { VolumePlugin } from '../volumes/plugin.ts';
import type { PodCertificateSource, VolumeObjects } from '../volumes/ports.ts';
import { VolumeStats } from '../volumes/volume-stats.ts';

export interface NodeVolumesInput {
  rootDir: string;
  allocatable: ResourceList;
  log: Logger;
  events: EventRecorder;
  /** What only nodes of a cluster have. */
  cluster: { objects: VolumeObjects; podCertificates: PodCertificateSource; csi: { plugin: VolumePlugin } } | undefined;
  nodeLabels(): StringMap;
  /** volumeStatsAggPeriod, milliseconds. */
  statsPeriodMs: number;
  /** Those whose volumes are measured. */
  pods(): readonly Pod[];
  /** The pod's runtime handler can mount recursively read-only. */
  recursiveReadOnly(pod: Pod): Promise<boolean>;
}

/** The volumes of pods on this machine, and what they hold. */
export interface NodeVolumes {
  manager: VolumeManager;
  stats: VolumeStats;
}

export async function nodeVolumes(input: NodeVolumesInput): Promise<NodeVolumes> {
  const { rootDir, allocatable, log, events, cluster, nodeLabels, pods, statsPeriodMs, recursiveReadOnly } = input;
  const slowFiles = new FileThreads(systemClock);
  const longFiles = new FileThreads(systemClock);
  endInSpiteOf([slowFiles, longFiles]);
  const manager = new VolumeManager({
    clock: systemClock,
    random: systemRandom,
    log,
    events,
    files: nodeFiles,
    owned: nodeOwnedFiles,
    mounts: nodeMounts,
    slowFiles,
    longFiles,
    tools: nodeTools,
    podsDir: posix.join(rootDir, 'pods'),
    allocatable: () => allocatable,
    fields: {
      metadata: metadataField,
      resource: (pod, ref) => resourceField(ref, containerOf(pod, ref.containerName), allocatable),
    },
    objects: cluster?.objects,
    podCertificates: cluster?.podCertificates,
    plugins: cluster === undefined ? [] : [cluster.csi.plugin],
    nodeLabels,
    expandSubPath,
    recursiveReadOnly,
    ...(await volumeFeatures()),
  });
  const stats = new VolumeStats({ clock: systemClock, log, pods, usageOf: (pod) => manager.usageOf(pod), periodMs: statsPeriodMs });
  return { manager, stats };
}

/** The end of a process waits for its threads, and one that a dead file system holds never comes: then the process ends itself by a signal. */
function endInSpiteOf(threads: readonly FileThreads[]): void {
  process.once('exit', () => {
    if (threads.every(({ stuck }) => stuck === 0)) return;
    process.removeAllListeners('SIGTERM');
    process.kill(process.pid, 'SIGTERM');
    process.kill(process.pid, 'SIGKILL');
  });
}
