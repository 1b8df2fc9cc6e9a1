/** gRPC status as a closed set of names (the codes the agent acts on keep their own; the rest is `Unknown`). */
export type CriErrorCode =
  | 'Canceled'
  | 'Unknown'
  | 'InvalidArgument'
  | 'DeadlineExceeded'
  | 'NotFound'
  | 'AlreadyExists'
  | 'PermissionDenied'
  | 'ResourceExhausted'
  | 'FailedPrecondition'
  | 'Aborted'
  | 'OutOfRange'
  | 'Unimplemented'
  | 'Internal'
  | 'Unavailable'
  | 'DataLoss'
  | 'Unauthenticated';

/** A failed runtime call: the gRPC code, the operation (`RunPodSandbox`), the runtime's own text as message. */
export class CriError extends Error {
  readonly code: CriErrorCode;
  readonly operation: string;
  constructor(code: CriErrorCode, operation: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CriError';
    this.code = code;
    this.operation = operation;
  }
}

/** True for a CriError with one of `codes` (any code when none is given). */
export function isCriError(err: unknown, ...codes: CriErrorCode[]): err is CriError {
  return err instanceof CriError && (codes.length === 0 || codes.includes(err.code));
}

/** By gRPC's number; 0 (OK) is no error and stands as Unknown. */
const codesByNumber: readonly CriErrorCode[] = [
  'Unknown',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

/** The name of a gRPC status number; `Unknown` for a number that gRPC does not define. */
export function criErrorCode(grpcCode: number): CriErrorCode {
  return codesByNumber[grpcCode] ?? 'Unknown';
}

/**
 * What the library says when a deadline passed or a call was given up on our side, and the text that every user of
 * Kubernetes knows instead (the library's names timers and addresses). A runtime's own text is kept.
 */
const localTexts: readonly (readonly [prefix: string, text: string])[] = [
  ['Deadline exceeded after ', 'context deadline exceeded'],
  ['Cancelled on client', 'context canceled'],
];

/** A CriError from whatever a gRPC call failed with. */
export function toCriError(err: unknown, operation: string): CriError {
  if (err instanceof CriError) return err;
  if (err instanceof Error && 'code' in err && typeof err.code === 'number') {
    const details = 'details' in err && typeof err.details === 'string' ? err.details : err.message;
    const text = localTexts.find(([prefix]) => details.startsWith(prefix))?.[1] ?? details.replace(/\. Resolution note: $/, '');
    return new CriError(criErrorCode(err.code), operation, text, err);
  }
  return new CriError('Internal', operation, err instanceof Error ? err.message : String(err), err);
}

/**
 * The text of a failed call as events and container statuses show it: `rpc error: code = NotFound desc = ...`, any
 * other error as its message.
 */
export function criErrorText(err: unknown): string {
  if (err instanceof CriError) return `rpc error: code = ${err.code} desc = ${err.message}`;
  return err instanceof Error ? err.message : String(err);
}
