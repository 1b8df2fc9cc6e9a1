/** A checkpoint file of a resource manager that stops the start: it is not what this node could have written with this configuration. */
export class CheckpointError extends Error {
  readonly code = 'checkpoint';
  readonly path: string;
  constructor(manager: 'CPU' | 'memory', path: string, reason: string) {
    super(
      `could not restore state from checkpoint: ${reason}; please drain this node and delete the ${manager} manager checkpoint file ` +
        `${JSON.stringify(path)} before restarting the kubelet`,
    );
    this.name = 'CheckpointError';
    this.path = path;
  }
}

/** What is wrong with the content of a checkpoint; the file's name and the remedy are added where the file is known. */
export class CheckpointContentError extends Error {
  readonly code = 'checkpoint-content';
}
