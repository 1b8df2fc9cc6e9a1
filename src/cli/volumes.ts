import { posix } from 'node:path';
import type { ResourceList } from '../api/types.ts';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeMounts } from '../host/mounts.ts';
import { nodeOwnedFiles } from '../host/owned-files.ts';
import { systemRandom } from '../host/random.ts';
import { volumeFeatures } from '../host/volume-features.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { containerOf, metadataField, resourceField } from '../sync/downward.ts';
import { expandSubPath } from '../sync/env-expansion.ts';
import { VolumeManager } from '../volumes/manager.ts';
import type { VolumeObjects } from '../volumes/ports.ts';

export interface NodeVolumesInput {
  rootDir: string;
  allocatable: ResourceList;
  log: Logger;
  events: EventRecorder;
  /** Undefined on a node without an API server. */
  objects: VolumeObjects | undefined;
}

/** The volumes of pods on this machine. */
export async function nodeVolumes({ rootDir, allocatable, log, events, objects }: NodeVolumesInput): Promise<VolumeManager> {
  return new VolumeManager({
    clock: systemClock,
    random: systemRandom,
    log,
    events,
    files: nodeFiles,
    owned: nodeOwnedFiles,
    mounts: nodeMounts,
    podsDir: posix.join(rootDir, 'pods'),
    allocatable: () => allocatable,
    fields: {
      metadata: metadataField,
      resource: (pod, ref) => resourceField(ref, containerOf(pod, ref.containerName), allocatable),
    },
    objects,
    expandSubPath,
    recursiveReadOnly: () => false,
    ...(await volumeFeatures()),
  });
}
