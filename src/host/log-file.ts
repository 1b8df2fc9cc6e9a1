import { constants, type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, normalize, resolve, sep } from 'node:path';

/** A log file that is open for reading. */
export interface LogFile {
  /** At most `length` bytes from `position`; empty at the end. */
  read(position: number, length: number): Promise<Buffer>;
  size(): Promise<number>;
  /** Whether its path leads to another file by now. False while the path leads nowhere. */
  replaced(): Promise<boolean>;
  close(): Promise<void>;
}

export interface LogFiles {
  /**
   * Opens `path`, which must lie below `root` with no symlink in between; the last part may be a link to a file below one
   * of `linkTargets`. Rejects with Node's errors, or EPERM when the path leads elsewhere: containers write in that
   * directory, and the reader is root.
   */
  open(path: string, root: string, linkTargets: readonly string[]): Promise<LogFile>;
}

const DELETED = ' (deleted)';

/** The machine's log files. */
export const systemLogFiles: LogFiles = {
  async open(path, root, linkTargets) {
    const clean = normalize(path);
    if (!below(clean, normalize(root))) throw refused(path, `it is not below ${root}`);
    // The root itself may be a link, to a bigger disk for instance.
    const expected = join(await realpath(root), clean.slice(normalize(root).length));
    try {
      return await opened(expected, expected);
    } catch (err) {
      if (!(err instanceof Error && 'code' in err && err.code === 'ELOOP')) throw err;
    }
    // The known link: the file of a runtime that writes elsewhere. Nothing of the way there is taken on trust.
    const target = resolve(dirname(expected), await readlink(expected));
    if ((await realpath(dirname(expected))) !== dirname(expected) || !linkTargets.some((t) => below(target, t))) {
      throw refused(path, 'it is a symlink');
    }
    return opened(target, expected);
  },
};

function below(path: string, root: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep) && basename(path) !== '';
}

function refused(path: string, why: string): Error {
  return Object.assign(new Error(`log file '${path}' is refused: ${why}`), { code: 'EPERM', path });
}

/** `expected` holds no symlink; `shown` is the path at which a later file of that name appears. */
async function opened(expected: string, shown: string): Promise<LogFile> {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const file = await open(expected, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = await file.stat();
    if (!info.isFile())
      throw Object.assign(new Error(`EINVAL: not a regular file, open '${expected}'`), { code: 'EINVAL', path: expected });
    // Where the open file really lies, whatever was exchanged on the way to it.
    const real = await readlink(`/proc/self/fd/${file.fd}`);
    const path = real.endsWith(DELETED) ? real.slice(0, -DELETED.length) : real;
    // A rotation may have given it a longer name meanwhile.
    if (path !== expected && !(dirname(path) === dirname(expected) && path.startsWith(`${expected}.`))) {
      throw refused(expected, 'a directory on the way to it is a symlink');
    }
    return new OpenLogFile(file, shown, info.dev, info.ino);
  } catch (err) {
    await file.close();
    throw err;
  }
}

class OpenLogFile implements LogFile {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #dev: number;
  readonly #ino: number;

  constructor(file: FileHandle, path: string, dev: number, ino: number) {
    this.#file = file;
    this.#path = path;
    this.#dev = dev;
    this.#ino = ino;
  }

  async read(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#file.read(buffer, 0, length, position);
    return buffer.subarray(0, bytesRead);
  }

  async size(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  async replaced(): Promise<boolean> {
    try {
      const now = await stat(this.#path);
      return now.ino !== this.#ino || now.dev !== this.#dev;
    } catch {
      return false;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
