/** What went wrong with a request to the API server: a closed set to act on. */
export type KubeErrorCode =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'AlreadyExists'
  | 'Conflict'
  /** The resource version or the continue token is too old (reasons Gone and Expired). */
  | 'Gone'
  | 'Invalid'
  | 'TooLarge'
  | 'UnsupportedMediaType'
  | 'TooManyRequests'
  /** The server's time for the request, or ours, ran out. */
  | 'Timeout'
  /** No connection, a broken one, or a server that says it cannot serve now. */
  | 'Unavailable'
  | 'Internal'
  /** An answer that is no JSON, or cut short. */
  | 'BadResponse'
  /** The caller's signal aborted. */
  | 'Canceled';

export interface KubeErrorDetails {
  /** HTTP status; 0 when there was no answer. */
  status?: number;
  /** From Retry-After or the Status object. */
  retryAfterMs?: number | undefined;
  /** `details.causes[].reason` of the Status object, such as `NamespaceTerminating` or `ResourceVersionTooLarge`. */
  causes?: readonly string[];
  cause?: unknown;
}

/** A failed request: `operation` is method and path without query; the message is the server's own, or ours. */
export class KubeError extends Error {
  readonly code: KubeErrorCode;
  readonly operation: string;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly causes: readonly string[];

  constructor(code: KubeErrorCode, operation: string, message: string, details: KubeErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'KubeError';
    this.code = code;
    this.operation = operation;
    this.status = details.status ?? 0;
    this.retryAfterMs = details.retryAfterMs;
    this.causes = details.causes ?? [];
  }
}

/** True for a KubeError with one of `codes` (any code when none is given). */
export function isKubeError(err: unknown, ...codes: KubeErrorCode[]): err is KubeError {
  return err instanceof KubeError && (codes.length === 0 || codes.includes(err.code));
}

/** What was asked for; undefined when the server has no such object. */
export async function unlessNotFound<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (err) {
    if (isKubeError(err, 'NotFound')) return undefined;
    throw err;
  }
}

/** metav1.StatusReason to code. Source: the public API's reasons. */
const byReason: ReadonlyMap<string, KubeErrorCode> = new Map([
  ['BadRequest', 'BadRequest'],
  ['Unauthorized', 'Unauthorized'],
  ['Forbidden', 'Forbidden'],
  ['NotFound', 'NotFound'],
  ['MethodNotAllowed', 'MethodNotAllowed'],
  ['NotAcceptable', 'UnsupportedMediaType'],
  ['UnsupportedMediaType', 'UnsupportedMediaType'],
  ['AlreadyExists', 'AlreadyExists'],
  ['Conflict', 'Conflict'],
  ['Gone', 'Gone'],
  ['Expired', 'Gone'],
  ['Invalid', 'Invalid'],
  ['RequestEntityTooLarge', 'TooLarge'],
  ['TooManyRequests', 'TooManyRequests'],
  ['ServerTimeout', 'Timeout'],
  ['Timeout', 'Timeout'],
  ['ServiceUnavailable', 'Unavailable'],
  ['InternalError', 'Internal'],
]);

const byStatus: ReadonlyMap<number, KubeErrorCode> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [406, 'UnsupportedMediaType'],
  [408, 'Timeout'],
  [409, 'Conflict'],
  [410, 'Gone'],
  [413, 'TooLarge'],
  [415, 'UnsupportedMediaType'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'Internal'],
  [502, 'Unavailable'],
  [503, 'Unavailable'],
  [504, 'Timeout'],
]);

/** The server's message is shown to people and goes into events: a broken server does not fill them. */
const MaxMessage = 4096;

/**
 * A KubeError from an answer's HTTP status and body (the JSON of a metav1.Status, or anything else). `retryAfterMs` is
 * the header's; the Status object's own counts when there is none.
 */
export function kubeErrorFrom(operation: string, status: number, body: unknown, retryAfterMs?: number): KubeError {
  const object = recordOf(body);
  const isStatus = object?.['kind'] === 'Status';
  const reason = isStatus && typeof object['reason'] === 'string' ? object['reason'] : '';
  const text = isStatus && typeof object['message'] === 'string' ? object['message'].slice(0, MaxMessage) : '';
  const code = byReason.get(reason) ?? byStatus.get(status) ?? (status >= 500 ? 'Unavailable' : 'BadRequest');
  const details = recordOf(object?.['details']);
  const causes = Array.isArray(details?.['causes']) ? details['causes'] : [];
  const seconds = details?.['retryAfterSeconds'];
  return new KubeError(code, operation, text === '' ? `the server answered ${operation} with status ${status}` : text, {
    status,
    retryAfterMs: retryAfterMs ?? (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined),
    causes: causes.flatMap((c: unknown) => {
      const cause = recordOf(c)?.['reason'];
      return typeof cause === 'string' ? [cause] : [];
    }),
  });
}

/** `value` when it is a JSON object. */
export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}
