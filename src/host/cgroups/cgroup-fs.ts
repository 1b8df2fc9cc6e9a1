import type { CgroupPath } from './path.ts';
import type { CgroupSettings, CgroupVersion } from './settings.ts';

/** A setting that the kernel did not take; the group exists all the same. */
export interface CgroupRefusal {
  path: CgroupPath;
  file: string;
  value: string;
  /** The system error's code: EACCES, EBUSY, EINVAL, ENOENT (controller not enabled), ... */
  code: string;
  message: string;
}

export type CgroupErrorCode = 'OutOfScope' | 'Busy' | 'ProcessesRemain' | 'System';

/** A control group operation that could not be done. */
export class CgroupError extends Error {
  readonly code: CgroupErrorCode;
  readonly operation: string;
  readonly path: string;
  constructor(code: CgroupErrorCode, operation: string, path: string, message: string, cause?: unknown) {
    super(`cannot ${operation} control group ${path}: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'CgroupError';
    this.code = code;
    this.operation = operation;
    this.path = path;
  }
}

/**
 * The machine's control groups, v1 (all hierarchies as one) and v2 alike. Paths are absolute from the root of the
 * hierarchy. Everything that changes something stays within the scope the implementation was given.
 */
export interface CgroupFs {
  readonly version: CgroupVersion;
  /** True when that controller is mounted (v1) or offered by the kernel (v2). */
  hasController(name: string): boolean;
  /** True when the group exists in every hierarchy that the kubelet cares about. */
  exists(path: CgroupPath): Promise<boolean>;
  /** Creates the group, and missing ones above it, in every such hierarchy; an existing one is fine. Then applies `settings`. */
  create(path: CgroupPath, settings: CgroupSettings): Promise<CgroupRefusal[]>;
  /** Applies what `settings` names. Settings of controllers that are not there are left out. */
  set(path: CgroupPath, settings: CgroupSettings): Promise<CgroupRefusal[]>;
  /**
   * Names of the groups directly below, sorted; empty for a missing group. Looks into one hierarchy, or with
   * `everywhere` into all of them, where a half-removed group may be left in any.
   */
  children(path: CgroupPath, everywhere?: boolean): Promise<string[]>;
  /** A file of the group, undefined when there is none. `file` names its controller first: `memory.usage_in_bytes`. */
  read(path: CgroupPath, file: string): Promise<string | undefined>;
  /** Processes of the group and all below it, in any hierarchy. */
  pids(path: CgroupPath): Promise<number[]>;
  /** SIGKILLs every process of the group and all below it, and waits until none is left. */
  kill(path: CgroupPath): Promise<void>;
  /** Removes the group and all below it from every hierarchy. Groups with processes are a `Busy` error. Missing is fine. */
  remove(path: CgroupPath): Promise<void>;
}
