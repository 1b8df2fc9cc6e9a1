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
