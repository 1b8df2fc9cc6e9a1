/**
 * `unsupported`: this agent has no way to mount it. `no-api-server`: needs an object, and there is nobody to ask.
 * `unresolved`: its claim leads to no volume that can be used now. `invalid`: the pod asks for what cannot be. `not-found`: an
 * object or a key of it is missing. `not-registered`: its driver is not here now. `host`: the machine refused.
 */
export type VolumeErrorCode = 'unsupported' | 'no-api-server' | 'unresolved' | 'invalid' | 'not-found' | 'not-registered' | 'host';

/** Why a volume cannot be used. */
export class VolumeError extends Error {
  readonly code: VolumeErrorCode;

  constructor(code: VolumeErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'VolumeError';
    this.code = code;
  }
}

/** True when trying again within this sync cannot help. */
export function isFinal(err: unknown): boolean {
  return err instanceof VolumeError && ['unsupported', 'no-api-server', 'unresolved'].includes(err.code);
}

export function textOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
