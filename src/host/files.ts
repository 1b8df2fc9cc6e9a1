/** What a name refers to, without following a final symlink unless the method says so. */
export interface FileInfo {
  kind: 'file' | 'directory' | 'symlink' | 'socket' | 'fifo' | 'character' | 'block' | 'other';
  /** Bytes. */
  size: number;
  /** Permission bits, e.g. 0o644. */
  mode: number;
  /** Wall-clock milliseconds. */
  mtimeMs: number;
}

export interface DirEntry {
  name: string;
  kind: FileInfo['kind'];
}

/**
 * The file system as the agent uses it. Every method is asynchronous. Errors are Node's (`code` ENOENT, EROFS,
 * ENOSPC, ...): `isErrno(err, 'ENOENT')` tests them.
 */
export interface Files {
  /** Creates the directory and its parents; each one created gets exactly `mode` whatever the umask. */
  mkdir(path: string, mode: number): Promise<void>;
  /** At most `maxBytes` (default 10 MiB) from the start of the file. */
  read(path: string, maxBytes?: number): Promise<Buffer>;
  /** Writes in place (truncating), mode applied exactly. For files that are bind-mounted into containers. */
  write(path: string, data: string | Uint8Array, mode: number): Promise<void>;
  /** Temp file in the same directory, fsync, rename. */
  writeAtomic(path: string, data: string | Uint8Array, mode: number): Promise<void>;
  /** Sorted by name. */
  list(path: string): Promise<DirEntry[]>;
  /** Follows symlinks; undefined when the path does not exist. */
  stat(path: string): Promise<FileInfo | undefined>;
  /** Does not follow a final symlink; undefined when the path does not exist. */
  lstat(path: string): Promise<FileInfo | undefined>;
  readlink(path: string): Promise<string>;
  /** Replaces an existing link of that name. */
  symlink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes one file or link; a missing one is no error. */
  unlink(path: string): Promise<void>;
  /** Removes one empty directory; a missing one is no error. */
  rmdir(path: string): Promise<void>;
  /** Removes a tree without crossing mount points' names by symlink; a missing one is no error. */
  removeTree(path: string): Promise<void>;
}

/** True when `err` is a system error with one of `codes`. */
export function isErrno(err: unknown, ...codes: string[]): err is NodeJS.ErrnoException {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' && (codes.length === 0 || codes.includes(err.code));
}
