import { type GrpcCode, statusOf } from '../proto/grpc-status.ts';

/** gRPC status as a closed set of names. */
export type CriErrorCode = GrpcCode;

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

/** A CriError from whatever a gRPC call failed with. */
export function toCriError(err: unknown, operation: string): CriError {
  if (err instanceof CriError) return err;
  const status = statusOf(err);
  if (status !== undefined) return new CriError(status.code, operation, status.text, err);
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
