import type { CriImages } from '../cri/ports.ts';
import type { Image, ImageSpec } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import { abortable } from './abortable.ts';

/**
 * How long a present image is believed to stay. Long enough for a node full of pods of one image that start together,
 * short enough that a removal behind our back is noticed at the first retry.
 */
const rememberMs = 2_000;

/**
 * Asks the runtime whether images are there: one call per image at a time, whoever waits for it, and a found image is
 * remembered for a moment. Absence and failure are never remembered.
 */
export class ImagePresence {
  readonly #images: Pick<CriImages, 'imageStatus'>;
  readonly #clock: Clock;
  readonly #asking = new Map<string, Promise<Image | undefined>>();
  readonly #found = new Map<string, { image: Image; until: number }>();

  constructor(images: Pick<CriImages, 'imageStatus'>, clock: Clock) {
    this.#images = images;
    this.#clock = clock;
  }

  /** Undefined when the image is absent. Rejects with CriError, or with the signal's reason. */
  async find(spec: ImageSpec, signal: AbortSignal): Promise<Image | undefined> {
    signal.throwIfAborted();
    const key = keyOf(spec);
    const known = this.#found.get(key);
    if (known && this.#clock.monotonic() < known.until) return known.image;
    const asking = this.#asking.get(key) ?? this.#ask(key, spec);
    return abortable(asking, signal);
  }

  /** Forgets an image by the name or the reference it was found under: after a removal, or when the runtime missed it. */
  forget(nameOrRef: string): void {
    for (const [key, { image }] of this.#found) {
      if (key.startsWith(`${nameOrRef}\n`) || image.id === nameOrRef) this.#found.delete(key);
    }
    // Which image a question under way will find is not known yet: none of the answers may be kept.
    this.#asking.clear();
  }

  #ask(key: string, spec: ImageSpec): Promise<Image | undefined> {
    // Without a signal: others may wait for the same answer, and the call has its deadline.
    const answer = this.#images.imageStatus(spec).then(
      (image) => {
        if (this.#asking.get(key) === answer) {
          this.#asking.delete(key);
          if (image) this.#remember(key, image);
        }
        return image;
      },
      (err: unknown) => {
        if (this.#asking.get(key) === answer) this.#asking.delete(key);
        throw err;
      },
    );
    this.#asking.set(key, answer);
    return answer;
  }

  #remember(key: string, image: Image): void {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#found) if (until <= now) this.#found.delete(other);
    this.#found.set(key, { image, until: now + rememberMs });
  }
}

function keyOf(spec: ImageSpec): string {
  return `${spec.image}\n${spec.runtimeHandler ?? ''}`;
}
