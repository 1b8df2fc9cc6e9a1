import { CriError } from '../../src/cri/errors.ts';
import type { CriImages } from '../../src/cri/ports.ts';
import type * as t from '../../src/cri/types.ts';
import type { Clock } from '../../src/host/clock.ts';
import { normalizeImage, type SimRegistry } from './registry.ts';
import type { Transport } from './transport.ts';

/** The ImageService of a simulated runtime, over its registry and its wire. */
export class SimImages implements CriImages {
  #clock: Clock;
  #wire: Transport;
  #registry: SimRegistry;

  constructor(clock: Clock, wire: Transport, registry: SimRegistry) {
    this.#clock = clock;
    this.#wire = wire;
    this.#registry = registry;
  }

  listImages(opts?: t.CallOptions): Promise<t.Image[]> {
    return this.#wire.simple('ListImages', {}, opts, () => [...this.#registry.local.values()].map((i) => ({ ...i })));
  }

  imageStatus(image: t.ImageSpec, opts?: t.CallOptions): Promise<t.Image | undefined> {
    return this.#wire.simple('ImageStatus', { image: image.image }, opts, () => this.#registry.find(image));
  }

  pullImage(
    image: t.ImageSpec,
    _auth: t.AuthConfig | undefined,
    sandboxConfig: t.PodSandboxConfig | undefined,
    opts?: t.CallOptions,
  ): Promise<string> {
    const target = { image: image.image, ...(sandboxConfig ? { podUid: sandboxConfig.metadata.uid } : {}) };
    return this.#wire.call('PullImage', target, opts, async (ctx) => {
      const entry = this.#registry.entry(image.image);
      if (entry.pullMs === undefined) await ctx.spend(1);
      else await this.#clock.sleep(entry.pullMs, ctx.signal);
      const refusal = this.#registry.refusal(image.image);
      if (refusal) throw new CriError(refusal.code, 'PullImage', refusal.message);
      return this.#registry.add(normalizeImage(image.image)).id;
    });
  }

  removeImage(image: t.ImageSpec, opts?: t.CallOptions): Promise<void> {
    return this.#wire.simple('RemoveImage', { image: image.image }, opts, () => {
      const found = this.#registry.find(image);
      if (found) this.#registry.local.delete(found.id);
    });
  }

  imageFsInfo(opts?: t.CallOptions): Promise<t.FilesystemUsage[]> {
    return this.#wire.simple('ImageFsInfo', {}, opts, () => [
      {
        timestamp: BigInt(this.#clock.now()) * 1_000_000n,
        mountpoint: '/var/lib/sim',
        usedBytes: [...this.#registry.local.values()].reduce((n, i) => n + i.size, 0),
        inodesUsed: 1000,
      },
    ]);
  }
}
