import type { Volume } from '../../api/types.ts';
import { type ContentVolumeDeps, showFiles } from '../content-volume.ts';
import { secretFiles } from '../object-files.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { defaultModeOf, has, sourceOf, textField } from '../source-fields.ts';

/** The keys of a Secret as files, in memory: they never reach a disk. */
export class SecretVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/secret';
  readonly readOnly = true;
  readonly relabel = true;
  readonly refreshes = true;
  readonly isHostPath = false;
  readonly #deps: ContentVolumeDeps;

  constructor(deps: ContentVolumeDeps) {
    this.#deps = deps;
  }

  supports(volume: Volume): boolean {
    return has(volume, 'secret');
  }

  async setUp(context: VolumeContext): Promise<void> {
    const source = sourceOf(context.volume.secret);
    const payload = await secretFiles(this.#deps.sources, context.pod, textField(source, 'secretName'), source, defaultModeOf(source));
    await showFiles(this.#deps, context, payload, true);
  }

  hostPath(_volume: Volume, dir: string): string {
    return dir;
  }

  tearDown(dir: string): Promise<void> {
    return this.#deps.files.removeTree(dir);
  }
}
