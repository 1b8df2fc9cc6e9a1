import { criErrorText, isCriError } from '../cri/errors.ts';
import type { CriImages } from '../cri/ports.ts';
import type { ImageSpec, PodSandboxConfig } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import { authConfig, type Credential } from './credential-index.ts';
import { PullGate } from './pull-gate.ts';
import { TokenBucket } from './token-bucket.ts';

/** How pulls are ordered and throttled (contract: flags-config.md). */
export interface PullLimits {
  /** serializeImagePulls. */
  serial: boolean;
  /** maxParallelImagePulls; undefined: no limit. Not read in serial mode. */
  maxParallel: number | undefined;
  /** registryPullQPS; 0: no throttle. */
  qps: number;
  /** registryBurst. */
  burst: number;
}

export interface PulledImage {
  imageRef: string;
  /** What it was pulled with; undefined: anonymously. */
  credential: Credential | undefined;
  /** Milliseconds of the pull itself, without the wait for its turn. */
  pullMs: number;
  /** Bytes; 0 when it could not be learnt. */
  size: number;
}

/** A pull that failed with every credential: the runtime's texts. */
export class PullFailure extends Error {
  override readonly name = 'PullFailure';
}

/** Pulls images one after another or side by side, with each credential in turn, or anonymously when there is none. */
export class ImagePuller {
  readonly #images: Pick<CriImages, 'pullImage' | 'imageStatus'>;
  readonly #clock: Clock;
  readonly #gate: PullGate;
  readonly #bucket: TokenBucket;

  constructor(images: Pick<CriImages, 'pullImage' | 'imageStatus'>, clock: Clock, limits: PullLimits) {
    this.#images = images;
    this.#clock = clock;
    this.#gate = new PullGate(limits.serial ? 1 : (limits.maxParallel ?? Number.POSITIVE_INFINITY));
    this.#bucket = new TokenBucket(limits.qps, limits.burst);
  }

  /** Rejects with PullFailure, or with the signal's reason when it aborted. */
  pull(spec: ImageSpec, credentials: readonly Credential[], sandboxConfig: PodSandboxConfig, signal: AbortSignal): Promise<PulledImage> {
    return this.#gate.run(signal, async () => {
      const started = this.#clock.monotonic();
      const { imageRef, credential } = await this.#withEach(credentials, spec, sandboxConfig, signal);
      const size = await this.#sizeOf(spec, signal);
      return { imageRef, credential, pullMs: this.#clock.monotonic() - started, size };
    });
  }

  async #withEach(
    credentials: readonly Credential[],
    spec: ImageSpec,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<Pick<PulledImage, 'imageRef' | 'credential'>> {
    const texts = new Set<string>();
    for (const credential of credentials.length > 0 ? credentials : [undefined]) {
      if (!this.#bucket.tryTake(this.#clock.monotonic())) {
        texts.add('pull QPS exceeded');
        continue;
      }
      try {
        const auth = credential && authConfig(credential);
        return { imageRef: await this.#images.pullImage(spec, auth, sandboxConfig, { signal }), credential };
      } catch (err) {
        signal.throwIfAborted();
        // Unknown is what a runtime gives when it did not choose a code: its text then stands alone.
        texts.add(isCriError(err, 'Unknown') ? err.message : criErrorText(err));
      }
    }
    const all = [...texts];
    throw new PullFailure(all.length === 1 ? all[0] : `[${all.join(', ')}]`);
  }

  async #sizeOf(spec: ImageSpec, signal: AbortSignal): Promise<number> {
    try {
      return (await this.#images.imageStatus(spec, { signal }))?.size ?? 0;
    } catch {
      // Only the event and the metric show the size.
      return 0;
    }
  }
}
