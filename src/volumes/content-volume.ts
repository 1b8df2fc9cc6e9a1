import { posix } from 'node:path';
import type { Volume } from '../api/types.ts';
import type { Files } from '../host/files.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import type { AtomicWriter } from './atomic-writer.ts';
import { type MemoryVolumeDeps, memoryLimit, mountMemory } from './memory-volume.ts';
import { makeNestedMountPoints } from './nested-mount-points.ts';
import type { FileSources } from './object-files.ts';
import type { Payload } from './payload.ts';
import type { VolumeContext, VolumePlugin } from './plugin.ts';
import { has, type Source, sourceOf } from './source-fields.ts';
import { countedUsage, type UsageInput, type VolumeFigures } from './usage.ts';

export interface ContentVolumeDeps extends MemoryVolumeDeps {
  files: Files;
  owned: OwnedFiles;
  writer: AtomicWriter;
  sources: FileSources;
}

/** What one kind of volume is, and where its files come from. */
export interface ContentKind {
  name: string;
  /** The field of the volume that holds its source. */
  field: string;
  /** The files touch no disk. */
  inMemory: boolean;
  /** Rejects before anything is made, so that a volume whose object is missing leaves nothing behind. */
  payload(sources: FileSources, context: VolumeContext, source: Source): Payload | Promise<Payload>;
}

/** A volume of files that the agent writes: read-only to the pod, and kept fresh while it runs. */
export class ContentVolume implements VolumePlugin {
  readonly name: string;
  readonly readOnly = true;
  readonly relabel = true;
  readonly refreshes = true;
  readonly isHostPath = false;
  readonly #kind: ContentKind;
  readonly #deps: ContentVolumeDeps;

  constructor(kind: ContentKind, deps: ContentVolumeDeps) {
    this.name = kind.name;
    this.#kind = kind;
    this.#deps = deps;
  }

  supports(volume: Volume): boolean {
    return has(volume, this.#kind.field);
  }

  async setUp(context: VolumeContext): Promise<void> {
    const { field, inMemory, payload } = this.#kind;
    await showFiles(this.#deps, context, await payload(this.#deps.sources, context, sourceOf(context.volume[field])), inMemory);
  }

  hostPath(_volume: Volume, dir: string): string {
    return dir;
  }

  usage(input: UsageInput): Promise<VolumeFigures | undefined> {
    return countedUsage(input, input.dir);
  }

  tearDown(dir: string): Promise<void> {
    return this.#deps.files.removeTree(dir);
  }
}

async function showFiles(deps: ContentVolumeDeps, context: VolumeContext, payload: Payload, inMemory: boolean): Promise<void> {
  const { files, owned, writer, allocatable } = deps;
  const { pod, volume, dir, fsGroup } = context;
  await files.mkdir(posix.dirname(dir), 0o750);
  if (inMemory) await mountMemory(deps, dir, memoryLimit(pod, allocatable()), fsGroup);
  else await owned.makeDirectory(dir, fsGroup === undefined ? 0o777 : 0o2777, { gid: fsGroup });
  await writer.write(dir, payload, fsGroup);
  await makeNestedMountPoints(pod, volume.name, dir, payload);
}
