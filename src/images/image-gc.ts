import { isCriError } from '../cri/errors.ts';
import type { CriImages, CriRuntime } from '../cri/ports.ts';
import type { Image } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import {
  evictionOrder,
  formatSize,
  type ImageGcPolicy,
  type ImageRecord,
  isImageGcOff,
  isTooYoung,
  outdated,
  shortage,
} from './image-eviction.ts';

/** What the image collector asks of the world. */
export interface ImageGcPort {
  images: Pick<CriImages, 'listImages' | 'removeImage' | 'imageFsInfo'>;
  policy: ImageGcPolicy;
  /** Sizes in bytes of the file system that holds a path. */
  disk(path: string): Promise<{ capacity: number; available: number }>;
  /** kubelet_image_garbage_collected_total. */
  collected(reason: 'age' | 'space'): void;
}

export interface ImageGcDeps extends ImageGcPort {
  runtime: Pick<CriRuntime, 'listContainers' | 'containerStatus'>;
  /** An image was removed: nobody is to believe in it any more. */
  removed(id: string): void;
  /** All images that the runtime has, once a round. */
  listed?(images: readonly Image[]): void;
  clock: Clock;
  log: Logger;
  events: EventRecorder;
  /** The node: what its events are about. */
  node: EventObject;
}

/** Time between two rounds (contract: pod-lifecycle.md §16). */
const PERIOD_MS = 5 * 60_000;

/** Keeps count of when images were used, and removes unused ones by age and when the disk fills up. */
export class ImageGc extends Rounds {
  override readonly name = 'image-gc';
  readonly #deps: ImageGcDeps;
  readonly #records = new Map<string, ImageRecord>();
  readonly #startedAt: number;
  #hasFailed = false;

  constructor(deps: ImageGcDeps) {
    super(deps.clock);
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
  }

  /** One round. Rejects when it could not free what it should, or when the runtime refused. */
  async collect(signal: AbortSignal): Promise<void> {
    const { policy, images, disk, clock, log, events, node } = this.#deps;
    const now = clock.monotonic();
    const inUse = await this.#detect(now, signal);
    const old = outdated(evictionOrder(this.#records.values(), inUse), policy, now, this.#startedAt);
    await this.#removeAll(old, 'age', signal);

    const [fs] = await images.imageFsInfo({ signal });
    const { capacity, available } = fs === undefined ? { capacity: 0, available: 0 } : await disk(fs.mountpoint);
    if (capacity === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      events.event(node, 'Warning', 'InvalidDiskCapacity', message);
      throw new Error(message);
    }
    const short = shortage(capacity, available, policy);
    if (short === undefined) return;
    log.info('Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold', {
      usage: short.usedPercent,
      highThreshold: policy.highPercent,
      amountToFree: short.toFree,
      lowThreshold: policy.lowPercent,
    });
    const freed = await this.#free(short.toFree, inUse, now, signal);
    if (freed >= short.toFree) return;
    const message =
      `Insufficient free disk space on the node's image filesystem (${short.usedPercent}% of ${formatSize(capacity)} used). ` +
      `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
      'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.';
    events.event(node, 'Warning', 'FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** Removes every image that nobody uses and that is old enough. Rejects when the runtime refused one. */
  async removeUnused(signal: AbortSignal): Promise<void> {
    const now = this.#deps.clock.monotonic();
    await this.#free(Number.POSITIVE_INFINITY, await this.#detect(now, signal), now, signal);
  }

  /** The first failure in a row is only logged: right after a start the runtime may not know its disk yet. */
  protected override async round(signal: AbortSignal): Promise<number> {
    const { policy, log, events, node, clock } = this.#deps;
    try {
      // Who may free the disk later wants to know by then when images were used.
      if (isImageGcOff(policy)) await this.#detect(clock.monotonic(), signal);
      else await this.collect(signal);
      this.#hasFailed = false;
    } catch (err) {
      if (signal.aborted) return PERIOD_MS;
      const text = err instanceof Error ? err.message : String(err);
      if (this.#hasFailed) {
        log.error(err, 'Image garbage collection failed multiple times in a row');
        if (!isImageGcOff(policy)) events.event(node, 'Warning', 'ImageGCFailed', text);
      } else log.error(err, 'Image garbage collection failed once. Stats initialization may not have completed yet');
      this.#hasFailed = true;
    }
    return PERIOD_MS;
  }

  /** Brings the records up to date; gives the images that containers use, dead ones too, by id. */
  async #detect(now: number, signal: AbortSignal): Promise<Set<string>> {
    const present = await this.#deps.images.listImages({ signal });
    this.#deps.listed?.(present);
    const inUse = await this.#used(present, signal);
    for (const { id, size, pinned, spec } of present) {
      const before = this.#records.get(id);
      this.#records.set(id, {
        id,
        firstDetected: before?.firstDetected ?? now,
        lastUsed: inUse.has(id) ? now : (before?.lastUsed ?? Number.NEGATIVE_INFINITY),
        size,
        pinned,
        runtimeHandler: spec?.runtimeHandler || before?.runtimeHandler,
      });
    }
    const ids = new Set(present.map((image) => image.id));
    for (const id of this.#records.keys()) if (!ids.has(id)) this.#records.delete(id);
    return inUse;
  }

  async #used(present: readonly Image[], signal: AbortSignal): Promise<Set<string>> {
    const { runtime } = this.#deps;
    const inUse = new Set<string>();
    const names = new Map(present.flatMap((image) => [image.id, ...image.repoTags, ...image.repoDigests].map((name) => [name, image.id])));
    const use = (name: string) => inUse.add(names.get(name) ?? name);
    const containers = await runtime.listContainers(undefined, { signal });
    for (const c of containers) {
      use(c.imageId || c.imageRef);
      use(c.imageRef);
    }
    for (const { id } of containers) {
      try {
        for (const { image } of (await runtime.containerStatus(id, { signal })).mounts) if (image?.image) use(image.image);
      } catch (err) {
        if (!isCriError(err, 'NotFound')) throw err;
      }
    }
    return inUse;
  }

  /** Bytes freed. Rejects when the runtime refused to remove one, after all were tried. */
  async #free(bytes: number, inUse: ReadonlySet<string>, now: number, signal: AbortSignal): Promise<number> {
    const { policy } = this.#deps;
    let freed = 0;
    const faults: string[] = [];
    for (const image of evictionOrder(this.#records.values(), inUse)) {
      if (freed >= bytes) break;
      if (isTooYoung(image, policy, now)) continue;
      const fault = await this.#remove(image, 'space', signal);
      if (fault === undefined) freed += image.size;
      else faults.push(fault);
    }
    if (faults.length > 0) {
      throw new Error(`wanted to free ${bytes} bytes, but freed ${freed} bytes space with errors in image deletion: ${faults.join(', ')}`);
    }
    return freed;
  }

  async #removeAll(images: readonly ImageRecord[], reason: 'age' | 'space', signal: AbortSignal): Promise<void> {
    const faults: string[] = [];
    for (const image of images) {
      const fault = await this.#remove(image, reason, signal);
      if (fault !== undefined) faults.push(fault);
    }
    if (faults.length > 0) {
      throw new Error(
        `wanted to free images older than ${this.#deps.policy.maxAgeMs / 1000}s, encountered errors in image deletion: ${faults.join(', ')}`,
      );
    }
  }

  /** The text of what went wrong. */
  async #remove({ id, size, runtimeHandler }: ImageRecord, reason: 'age' | 'space', signal: AbortSignal): Promise<string | undefined> {
    const { images, log, collected, removed } = this.#deps;
    signal.throwIfAborted();
    log.info('Removing image to free bytes', { imageID: id, size, reason });
    try {
      await images.removeImage(runtimeHandler === undefined ? { image: id } : { image: id, runtimeHandler }, { signal });
    } catch (err) {
      signal.throwIfAborted();
      return err instanceof Error ? err.message : String(err);
    }
    this.#records.delete(id);
    removed(id);
    collected(reason);
    return undefined;
  }
}
