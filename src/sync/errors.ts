/** The reasons that a container or its pod shows while it cannot start (contract: events.md §4), and the pod's own. */
export type SyncErrorCode =
  | 'CrashLoopBackOff'
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed'
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'PreCreateHookError'
  | 'PreStartHookError'
  | 'PostStartHookError'
  | 'KillContainerError'
  | 'ResizePodInPlaceError'
  | 'KillPodSandboxError'
  | 'CreatePodSandboxError'
  | 'ConfigPodSandboxError'
  | 'NetworkNotReady'
  | 'FailedCreatePodContainer'
  | 'FailedMakePodDataDirectories'
  | 'FailedMount';

/** A step of a pod's sync that failed: its reason, the container (when it is about one) and when to try again. */
export class SyncError extends Error {
  readonly code: SyncErrorCode;
  readonly container: string | undefined;
  /** Milliseconds after which a new try makes sense; undefined: the usual retry of a failed sync. */
  readonly retryAfterMs: number | undefined;

  constructor(code: SyncErrorCode, message: string, more: { container?: string; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'SyncError';
    this.code = code;
    this.container = more.container;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** True for the errors that only say "not yet": they do not fail the sync. */
export const isBackOff = (err: SyncError) => err.code === 'CrashLoopBackOff' || err.code === 'ImagePullBackOff';
