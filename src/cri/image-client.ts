import { listCall, required, type ServiceCaller } from './caller.ts';
import { readFilesystemUsage, readImage, type WireFilesystemUsage, type WireImage } from './convert/image.ts';
import { writeSandboxConfig } from './convert/sandbox.ts';
import { CriError } from './errors.ts';
import type { CriImageFs, CriImages } from './ports.ts';
import type * as t from './types.ts';

const imageList = listCall<WireImage>('ListImages', 'images');
const imageStream = listCall<WireImage>('StreamImages', 'images');

/** ImageService. Deadlines and checks: contract compat-matrix.md §3. */
export class ImageClient implements CriImages, CriImageFs {
  readonly #rpc: ServiceCaller;

  constructor(rpc: ServiceCaller) {
    this.#rpc = rpc;
  }

  async listImages(opts?: t.CallOptions): Promise<t.Image[]> {
    return (await this.#rpc.list(imageList, imageStream, {}, opts)).map(readImage);
  }

  async imageStatus(image: t.ImageSpec, opts?: t.CallOptions): Promise<t.Image | undefined> {
    const answer = await this.#rpc.call<{ image: WireImage | null }>('ImageStatus', { image }, opts, image.image);
    if (answer.image === null) return undefined;
    const found = readImage(answer.image);
    if (found.id === '' || found.size === 0) {
      throw new CriError('Internal', 'ImageStatus', `the runtime answered without an id or a size for image "${image.image}"`);
    }
    return found;
  }

  async pullImage(
    image: t.ImageSpec,
    auth: t.AuthConfig | undefined,
    sandboxConfig: t.PodSandboxConfig | undefined,
    opts?: t.CallOptions,
  ): Promise<string> {
    const request = { image, auth, sandboxConfig: sandboxConfig && writeSandboxConfig(sandboxConfig) };
    // No deadline: a pull takes as long as the network needs.
    const { imageRef } = await this.#rpc.call<{ imageRef: string }>('PullImage', request, opts, image.image, 0);
    return required(imageRef, 'PullImage', `a reference for image "${image.image}"`);
  }

  async removeImage(image: t.ImageSpec, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('RemoveImage', { image }, opts, image.image);
  }

  async imageFilesystems(opts?: t.CallOptions): Promise<t.ImageFsInfo> {
    const wire = await this.#rpc.call<{ imageFilesystems: WireFilesystemUsage[]; containerFilesystems: WireFilesystemUsage[] }>(
      'ImageFsInfo',
      {},
      opts,
    );
    return {
      imageFilesystems: wire.imageFilesystems.map(readFilesystemUsage),
      containerFilesystems: wire.containerFilesystems.map(readFilesystemUsage),
    };
  }

  /** At least one; of several the first one counts. */
  async imageFsInfo(opts?: t.CallOptions): Promise<t.FilesystemUsage[]> {
    const { imageFilesystems } = await this.imageFilesystems(opts);
    if (imageFilesystems.length === 0) throw new CriError('Internal', 'ImageFsInfo', 'the runtime names no image filesystem');
    return imageFilesystems;
  }
}
