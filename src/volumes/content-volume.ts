import { posix } from 'node:path';
import type { Files } from '../host/files.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import type { AtomicWriter } from './atomic-writer.ts';
import { type MemoryVolumeDeps, memoryLimit, mountMemory } from './memory-volume.ts';
import { makeNestedMountPoints } from './nested-mount-points.ts';
import type { FileSources } from './object-files.ts';
import type { Payload } from './payload.ts';
import type { VolumeContext } from './plugin.ts';

export interface ContentVolumeDeps extends MemoryVolumeDeps {
  files: Files;
  owned: OwnedFiles;
  writer: AtomicWriter;
  sources: FileSources;
}

/**
 * Shows files that the agent writes. `inMemory`: they touch no disk. The payload is there before anything is made, so
 * that a volume whose object is missing leaves nothing behind.
 */
export async function showFiles(deps: ContentVolumeDeps, context: VolumeContext, payload: Payload, inMemory: boolean): Promise<void> {
  const { files, owned, writer, allocatable } = deps;
  const { pod, volume, dir, fsGroup } = context;
  await files.mkdir(posix.dirname(dir), 0o750);
  if (inMemory) await mountMemory(deps, dir, memoryLimit(pod, allocatable()), fsGroup);
  else await owned.makeDirectory(dir, fsGroup === undefined ? 0o777 : 0o2777, { gid: fsGroup });
  await writer.write(dir, payload, fsGroup);
  await makeNestedMountPoints(pod, volume.name, dir, payload);
}
