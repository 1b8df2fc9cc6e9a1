import { BackoffTable, defaultBackoffPolicy } from '../api/backoff.ts';
import { formatDurationMs } from '../api/duration.ts';
import { applyDefaultImageTag, defaultPullPolicy } from '../api/image-name.ts';
import type { Container, Pod } from '../api/types.ts';
import { criErrorText } from '../cri/errors.ts';
import type { CriImages } from '../cri/ports.ts';
import type { Image, ImageSpec, PodSandboxConfig } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import { Turns } from '../host/turns.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import { abortable } from './abortable.ts';
import type { Credential } from './credential-index.ts';
import { classifyPullError, ImageError } from './image-error.ts';
import type { ImageMetrics } from './image-metrics.ts';
import { ImagePresence } from './image-presence.ts';
import { ImagePuller, type PulledImage, type PullLimits } from './image-puller.ts';
import type { Keyring } from './keyring.ts';
import type { PullLedger } from './pull-ledger.ts';

export interface ImageManagerDeps {
  images: Pick<CriImages, 'imageStatus' | 'pullImage'>;
  keyring: Keyring;
  clock: Clock;
  events: EventRecorder;
  metrics: ImageMetrics;
  limits: PullLimits;
  /** Feature gate KubeletEnsureSecretPulledImages: changes the text of the event for a present image. */
  verifyCredentials: boolean;
  /** Of the same gate: which pods may use which present image. Absent: all may. */
  ledger?: Pick<PullLedger, 'begin' | 'succeeded' | 'failed' | 'mayUse'>;
}

export interface EnsureImageRequest {
  pod: Pod;
  /** Of an image volume: its reference and pullPolicy. */
  container: Pick<Container, 'image' | 'imagePullPolicy'>;
  /** `spec.containers{name}`; absent for an image volume, whose events are about the pod. */
  fieldPath?: string;
  sandboxConfig: PodSandboxConfig;
  signal: AbortSignal;
}

/**
 * Makes images present by their pull policy (contract: pod-lifecycle.md §6). All events about it come from here, the
 * `Failed` with the text `Error: {reason}` included.
 */
export class ImageManager {
  readonly #deps: ImageManagerDeps;
  readonly #presence: ImagePresence;
  readonly #puller: ImagePuller;
  readonly #backoff = new BackoffTable(defaultBackoffPolicy);
  /** Containers of one pod that want the same image, one after another: the second one finds it, or the back-off. */
  readonly #turns = new Turns();
  /** By back-off key: what the last pull failed with, to be repeated while it is backed off. */
  readonly #lastFailure = new Map<string, string>();

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
    this.#presence = new ImagePresence(deps.images, deps.clock);
    this.#puller = new ImagePuller(deps.images, deps.clock, deps.limits);
  }

  /** The reference to create the container with. Rejects with ImageError, or with the signal's reason. */
  async ensureImage(req: EnsureImageRequest): Promise<{ imageRef: string }> {
    const object = eventObject(req);
    try {
      return { imageRef: await this.#turns.run(backoffKey(req), () => this.#ensure(req, object)) };
    } catch (err) {
      // Of an image volume each container that mounts it tells so.
      if (err instanceof ImageError && req.fieldPath !== undefined)
        this.#deps.events.event(object, 'Warning', 'Failed', `Error: ${err.code}`);
      throw err;
    }
  }

  /**
   * The runtime did not find this image (a name or a reference) although it was reported present, or it was removed:
   * the next `ensureImage` asks again.
   */
  forget(nameOrRef: string): void {
    this.#presence.forget(nameOrRef);
  }

  /** Drops back-off entries without an event for ten minutes. */
  collect(): void {
    this.#backoff.collect(this.#deps.clock.monotonic());
    for (const key of this.#lastFailure.keys()) if (this.#backoff.delay(key) === 0) this.#lastFailure.delete(key);
  }

  async #ensure(req: EnsureImageRequest, object: EventObject): Promise<string> {
    const { events, metrics, verifyCredentials, ledger } = this.#deps;
    const requested = req.container.image ?? '';
    const name = this.#nameOf(requested, object);
    const policy = req.container.imagePullPolicy ?? defaultPullPolicy(name);
    req.signal.throwIfAborted();
    let present: boolean | undefined;
    let pullRequired: boolean | undefined;
    const credentials = this.#credentialsOf(name, req);
    try {
      if (policy !== 'Always') {
        const image = await this.#inspect(name, object, req.signal);
        present = image !== undefined;
        // One that the pod may not use is none for it, so that nobody learns of it.
        if (image && (ledger === undefined || (await ledger.mayUse(requested, image.id, credentials)))) {
          pullRequired = false;
          const note = verifyCredentials ? ' and can be accessed by the pod' : '';
          events.event(object, 'Normal', 'Pulled', `Container image ${quote(requested)} already present on machine${note}`);
          return image.id;
        }
        if (policy === 'Never') {
          pullRequired = present || undefined;
          const message = `Container image ${quote(requested)} is not present with pull policy of Never`;
          events.event(object, 'Warning', 'ErrImageNeverPull', message);
          throw new ImageError('ErrImageNeverPull', requested, message);
        }
      }
      pullRequired = true;
      return await this.#pull(req, { image: name, annotations: req.pod.metadata.annotations ?? {} }, credentials, requested, object);
    } finally {
      metrics.ensured(policy, present, pullRequired);
    }
  }

  /** Looked up at most once for a request, and not before somebody needs them. */
  #credentialsOf(name: string, { pod, signal }: EnsureImageRequest): () => Promise<Credential[]> {
    let found: Promise<Credential[]> | undefined;
    return () => {
      found ??= (async () => this.#deps.keyring.credentials(name, pod))();
      return abortable(found, signal);
    };
  }

  #nameOf(requested: string, object: EventObject): string {
    try {
      return applyDefaultImageTag(requested);
    } catch (err) {
      const message = `Failed to apply default image tag ${quote(requested)}: ${err instanceof Error ? err.message : String(err)}`;
      this.#deps.events.event(object, 'Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', requested, message, { cause: err });
    }
  }

  async #inspect(name: string, object: EventObject, signal: AbortSignal): Promise<Image | undefined> {
    try {
      return await this.#presence.find({ image: name }, signal);
    } catch (err) {
      signal.throwIfAborted();
      // The empty reference is what the real kubelet prints here, and what tools match.
      const message = `Failed to inspect image "": ${criErrorText(err)}`;
      this.#deps.events.event(object, 'Warning', 'InspectFailed', message);
      throw new ImageError('ImageInspectError', name, message, { cause: err });
    }
  }

  async #pull(
    req: EnsureImageRequest,
    spec: ImageSpec,
    credentials: () => Promise<Credential[]>,
    requested: string,
    object: EventObject,
  ): Promise<string> {
    const { clock, events, metrics } = this.#deps;
    const key = backoffKey(req);
    const remaining = this.#backoff.remaining(key, clock.monotonic());
    if (remaining > 0) throw this.#backedOff(key, requested, object, remaining);

    events.event(object, 'Normal', 'Pulling', `Pulling image ${quote(requested)}`);
    const started = clock.monotonic();
    try {
      const { imageRef, pullMs, size } = await this.#recorded(requested, async () =>
        this.#puller.pull(spec, await credentials(), req.sandboxConfig, req.signal),
      );
      const totalMs = clock.monotonic() - started;
      events.event(
        object,
        'Normal',
        'Pulled',
        `Successfully pulled image ${quote(requested)} in ${duration(pullMs)} (${duration(totalMs)} including waiting). Image size: ${size} bytes.`,
      );
      metrics.pulled(totalMs / 1000, size);
      this.#backoff.reset(key);
      this.#lastFailure.delete(key);
      return imageRef;
    } catch (err) {
      req.signal.throwIfAborted();
      const failure = this.#pullFailed(key, requested, object, err);
      await this.#tellMissingSecrets(req.pod);
      throw failure;
    }
  }

  /** What is not written down before it begins would be everybody's after a crash. */
  async #recorded(requested: string, pull: () => Promise<PulledImage>): Promise<PulledImage> {
    const { ledger } = this.#deps;
    if (ledger === undefined) return pull();
    await ledger.begin(requested);
    let pulled: PulledImage;
    try {
      pulled = await pull();
    } catch (err) {
      await ledger.failed(requested);
      throw err;
    }
    await ledger.succeeded(requested, pulled.imageRef, pulled.credential);
    return pulled;
  }

  /** They may be why: contract events.md, FailedToRetrieveImagePullSecret. */
  async #tellMissingSecrets(pod: Pod): Promise<void> {
    const { keyring, events } = this.#deps;
    const missing = (await keyring.missingSecrets?.(pod)) ?? [];
    if (missing.length === 0) return;
    const text = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
    events.event(podEventObject(pod), 'Warning', 'FailedToRetrieveImagePullSecret', text);
  }

  #backedOff(key: string, requested: string, object: EventObject, remainingMs: number): ImageError {
    const text = `Back-off pulling image ${quote(requested)}`;
    this.#deps.events.event(object, 'Normal', 'BackOff', text);
    const last = this.#lastFailure.get(key);
    const message = last === undefined ? text : `${text}: ${last}`;
    return new ImageError('ImagePullBackOff', requested, message, { now: this.#deps.clock.monotonic(), retryAfterMs: remainingMs });
  }

  #pullFailed(key: string, requested: string, object: EventObject, err: unknown): ImageError {
    const text = err instanceof Error ? err.message : String(err);
    this.#deps.events.event(object, 'Warning', 'Failed', `Failed to pull image ${quote(requested)}: ${text}`);
    const now = this.#deps.clock.monotonic();
    const retryAfterMs = this.#backoff.next(key, now, now);
    const { code, message } = classifyPullError(requested, text);
    this.#lastFailure.set(key, `${code}: ${message}`);
    return new ImageError(code, requested, message, { now, retryAfterMs, cause: err });
  }
}

function backoffKey({ pod, container }: EnsureImageRequest): string {
  return `${pod.metadata.uid}_${container.image ?? ''}`;
}

function eventObject({ pod, fieldPath }: EnsureImageRequest): EventObject {
  return { ...podEventObject(pod), ...(fieldPath === undefined ? {} : { fieldPath }) };
}

const quote = (text: string) => JSON.stringify(text);

/** Whole milliseconds, as `1.234s`. */
const duration = (ms: number) => formatDurationMs(Math.trunc(ms));
