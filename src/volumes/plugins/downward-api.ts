import type { Volume } from '../../api/types.ts';
import { type ContentVolumeDeps, showFiles } from '../content-volume.ts';
import { downwardFiles } from '../object-files.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { defaultModeOf, has, sourceOf } from '../source-fields.ts';

/** Fields of the pod itself as files. */
export class DownwardApiVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/downward-api';
  readonly readOnly = true;
  readonly relabel = true;
  readonly refreshes = true;
  readonly isHostPath = false;
  readonly #deps: ContentVolumeDeps;

  constructor(deps: ContentVolumeDeps) {
    this.#deps = deps;
  }

  supports(volume: Volume): boolean {
    return has(volume, 'downwardAPI');
  }

  async setUp(context: VolumeContext): Promise<void> {
    const source = sourceOf(context.volume.downwardAPI);
    await showFiles(this.#deps, context, downwardFiles(this.#deps.sources, context.pod, source, defaultModeOf(source)), true);
  }

  hostPath(_volume: Volume, dir: string): string {
    return dir;
  }

  tearDown(dir: string): Promise<void> {
    return this.#deps.files.removeTree(dir);
  }
}
