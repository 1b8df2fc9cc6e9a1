/** gRPC's status codes by name, without OK. */
export type GrpcCode =
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

/** By gRPC's number; 0 (OK) is no error and stands as Unknown. */
const codesByNumber: readonly GrpcCode[] = [
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
export function grpcCode(number: number): GrpcCode {
  return codesByNumber[number] ?? 'Unknown';
}

/**
 * What the library says when a deadline passed or a call was given up on our side, and the text that every user of
 * Kubernetes knows instead (the library's names timers and addresses). A peer's own text is kept.
 */
const localTexts: readonly (readonly [prefix: string, text: string])[] = [
  ['Deadline exceeded', 'context deadline exceeded'],
  ['Cancelled on client', 'context canceled'],
];

/** Code and text of what a call of the gRPC library failed with; undefined when it is no status. */
export function statusOf(err: unknown): { code: GrpcCode; text: string } | undefined {
  if (!(err instanceof Error && 'code' in err && typeof err.code === 'number')) return undefined;
  const details = 'details' in err && typeof err.details === 'string' ? err.details : err.message;
  const text = localTexts.find(([prefix]) => details.startsWith(prefix))?.[1] ?? details.replace(/\. Resolution note: $/, '');
  return { code: grpcCode(err.code), text };
}
