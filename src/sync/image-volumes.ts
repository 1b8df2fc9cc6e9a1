import type { Container, Pod, Volume } from '../api/types.ts';
import type { ImageSpec, PodSandboxConfig } from '../cri/types.ts';
import type { ImageEnsurer } from './context.ts';

/** Where a pod runs, as its images are pulled for it. */
export interface ImageVolumeTarget {
  sandboxConfig: PodSandboxConfig;
  runtimeHandler: string;
  signal: AbortSignal;
}

/**
 * The images that a pod mounts as volumes (contract: pod-lifecycle.md §6, "ImageVolume pulls"). One object a sync: what
 * several containers mount is asked for once, and all of them get the same answer, a failure too.
 */
export class ImageVolumes {
  readonly #images: Pick<ImageEnsurer, 'ensureImage'>;
  readonly #pod: Pod;
  readonly #asked = new Map<string, Promise<ImageSpec>>();

  constructor(images: Pick<ImageEnsurer, 'ensureImage'>, pod: Pod) {
    this.#images = images;
    this.#pod = pod;
  }

  /** By the name of the volume, those that the container mounts. Rejects with ImageError, after all were tried. */
  async of(container: Container, target: ImageVolumeTarget): Promise<ReadonlyMap<string, ImageSpec>> {
    const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
    const volumes = (this.#pod.spec.volumes ?? []).filter((v) => v.image !== undefined && v.image !== null && mounted.has(v.name));
    const results = await Promise.allSettled(volumes.map(async (v) => [v.name, await this.#spec(v, target)] as const));
    return new Map(
      results.map((result) => {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      }),
    );
  }

  #spec(volume: Volume, target: ImageVolumeTarget): Promise<ImageSpec> {
    let spec = this.#asked.get(volume.name);
    if (spec === undefined) {
      spec = this.#ensure(volume, target);
      this.#asked.set(volume.name, spec);
    }
    return spec;
  }

  async #ensure({ image = {} }: Volume, { sandboxConfig, runtimeHandler, signal }: ImageVolumeTarget): Promise<ImageSpec> {
    const { reference = '', pullPolicy } = image;
    const wanted = { image: reference, ...(pullPolicy === undefined ? {} : { imagePullPolicy: pullPolicy }) };
    const { imageRef } = await this.#images.ensureImage({ pod: this.#pod, container: wanted, sandboxConfig, signal });
    return {
      image: imageRef,
      userSpecifiedImage: reference,
      annotations: this.#pod.metadata.annotations ?? {},
      ...(runtimeHandler === '' ? {} : { runtimeHandler }),
    };
  }
}
