import { SyncError } from './errors.ts';

/**
 * What the runtime should be told cannot be built from the pod. Shown as the container's waiting reason
 * `CreateContainerConfigError`, or for the sandbox as `ConfigPodSandboxError`.
 */
export class ConfigGenerationError extends SyncError {
  constructor(message: string, container?: string, cause?: unknown) {
    super(container === undefined ? 'ConfigPodSandboxError' : 'CreateContainerConfigError', message, {
      ...(container === undefined ? {} : { container }),
      ...(cause === undefined ? {} : { cause }),
    });
    this.name = 'ConfigGenerationError';
  }
}
