import type { GrpcCode } from '../../proto/grpc-status.ts';
import { isGrpcError } from '../../proto/unix-client.ts';

/** After these the driver may still be at work on the volume, or have done it. Source: contract node.md §10, CSI's error scheme. */
const uncertain: readonly GrpcCode[] = ['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'];

/**
 * What a failed mount leaves: `final`, nothing was done, so what was prepared for it can go; `uncertain`, it may be mounted,
 * so it must be unmounted before it is forgotten.
 */
export type FailureKind = 'final' | 'uncertain';

/** Whatever is no answer of the driver counts as uncertain: an earlier call may be under way. */
export function failureKind(err: unknown): FailureKind {
  return isGrpcError(err) && !isGrpcError(err, ...uncertain) ? 'final' : 'uncertain';
}

/** The volume cannot grow to what is asked for: it is not tried again for that size. Source: the kubelet's CSI expander. */
export function isInfeasible(err: unknown): boolean {
  return isGrpcError(err, 'InvalidArgument', 'OutOfRange', 'NotFound');
}
