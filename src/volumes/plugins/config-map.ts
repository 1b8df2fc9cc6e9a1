import type { Volume } from '../../api/types.ts';
import { type ContentVolumeDeps, showFiles } from '../content-volume.ts';
import { configMapFiles } from '../object-files.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { defaultModeOf, has, sourceOf, textField } from '../source-fields.ts';

/** The keys of a ConfigMap as files, on disk as the real kubelet's. */
export class ConfigMapVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/configmap';
  readonly readOnly = true;
  readonly relabel = true;
  readonly refreshes = true;
  readonly isHostPath = false;
  readonly #deps: ContentVolumeDeps;

  constructor(deps: ContentVolumeDeps) {
    this.#deps = deps;
  }

  supports(volume: Volume): boolean {
    return has(volume, 'configMap');
  }

  async setUp(context: VolumeContext): Promise<void> {
    const source = sourceOf(context.volume.configMap);
    const payload = await configMapFiles(this.#deps.sources, context.pod, textField(source, 'name'), source, defaultModeOf(source));
    await showFiles(this.#deps, context, payload, false);
  }

  hostPath(_volume: Volume, dir: string): string {
    return dir;
  }

  tearDown(dir: string): Promise<void> {
    return this.#deps.files.removeTree(dir);
  }
}
