import type { Volume } from '../../api/types.ts';
import type { VolumePlugin } from '../plugin.ts';

/** The files of an image. The runtime mounts them (KEP-4639): nothing of it is on the agent's disk. */
export class ImageVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/image';
  readonly readOnly = true;
  readonly relabel = false;
  readonly refreshes = false;
  readonly isHostPath = false;

  supports(volume: Volume): boolean {
    return isImageVolume(volume);
  }

  async setUp(): Promise<void> {}

  hostPath(): string {
    return '';
  }

  async tearDown(): Promise<void> {}
}

export const isImageVolume = ({ image }: Volume) => image !== undefined && image !== null;
