/** Why an image cannot be used: the waiting reason of the container (contract: events.md §4). */
export type ImageErrorCode =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

/** `message` is the waiting message. The `retry` values are there when it is known when a new try makes sense. */
export class ImageError extends Error {
  readonly code: ImageErrorCode;
  readonly image: string;
  /** On Clock.monotonic(). */
  readonly retryAtMonotonic: number | undefined;
  /** The same, in milliseconds from the moment of the error. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ImageErrorCode, image: string, message: string, more: { now?: number; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'ImageError';
    this.code = code;
    this.image = image;
    this.retryAfterMs = more.retryAfterMs;
    this.retryAtMonotonic = more.now === undefined || more.retryAfterMs === undefined ? undefined : more.now + more.retryAfterMs;
  }
}

export function isImageError(err: unknown, ...codes: ImageErrorCode[]): err is ImageError {
  return err instanceof ImageError && (codes.length === 0 || codes.includes(err.code));
}

/** Prefixes by which a runtime marks the cause of a failed pull, and how the message goes on. */
const markedCauses = [
  { code: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { code: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

/** Reason and message of a failed pull from the runtime's text (contract: compat-matrix.md §3, PullImage). */
export function classifyPullError(image: string, text: string): { code: ImageErrorCode; message: string } {
  for (const { code, because } of markedCauses) {
    if (text.startsWith(code)) return { code, message: `image pull failed for ${image} because ${because}${text.slice(code.length)}` };
  }
  return { code: 'ErrImagePull', message: text };
}
