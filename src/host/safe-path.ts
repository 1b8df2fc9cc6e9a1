import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { isErrno } from './files.ts';

const { O_NOFOLLOW } = constants;
/** open(2); Node does not name it. The same number on every architecture that Node runs on. */
const O_PATH = 0o10000000;

/** As the kernel (path_resolution(7)). */
const MaxLinks = 40;
/** One descriptor is held for each directory of the way, so that `..` in a link needs no name. */
const MaxDepth = 512;

export type SafePathCode = 'escapes' | 'not-found' | 'not-directory' | 'too-many-links' | 'too-deep';

/** A path below a directory that cannot be walked: `code` says why, the message names no path of the host. */
export class SafePathError extends Error {
  readonly code: SafePathCode;

  constructor(code: SafePathCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SafePathError';
    this.code = code;
  }
}

/** A file or directory that is held by its descriptor: whoever renames or replaces its name does not change what this is. */
export interface HeldPath {
  /** Names it in this process. */
  readonly path: string;
  /** Names it in a child process of this one. */
  readonly pathForChild: string;
  readonly kind: 'directory' | 'other';
  readonly dev: bigint;
  readonly ino: bigint;
  /** Permission bits. */
  readonly mode: number;
  close(): Promise<void>;
}

export interface OpenBeneathOptions {
  /** Directories that are missing are made with exactly this mode, or with the root's (and its set-group bit); without it they are an error. */
  create?: number | 'as-root';
  /** Whether `root` itself may be a symlink; what is below it is never left either way. */
  followRoot?: boolean;
}

/**
 * Opens `relative` below `root` without ever leaving `root`, also while another process renames and links below it: each
 * name is opened on its own, through the descriptor of the directory before it, and links are not followed by the kernel
 * but walked like any other part. A link that is absolute or leads above `root` is refused. The same as openat2(2) with
 * RESOLVE_BENEATH, which Node does not offer. Rejects with SafePathError, or with the system's error.
 */
export async function openBeneath(root: string, relative: string, options: OpenBeneathOptions = {}): Promise<HeldPath> {
  if (relative.startsWith('/') || relative.includes('\0')) throw new SafePathError('escapes', 'the path is absolute or holds NUL');
  const walk = new Walk(options.create);
  try {
    const flags = O_PATH | (options.followRoot === true ? 0 : O_NOFOLLOW);
    walk.push(await fs.open(root, flags));
    await walk.checkRoot();
    await walk.run(relative);
    return await walk.take();
  } finally {
    await walk.close();
  }
}

class Walk {
  #create: OpenBeneathOptions['create'];
  readonly #stack: fs.FileHandle[] = [];
  #links = 0;

  constructor(create: OpenBeneathOptions['create']) {
    this.#create = create;
  }

  push(handle: fs.FileHandle): void {
    this.#stack.push(handle);
  }

  async checkRoot(): Promise<void> {
    const stats = await this.#top.stat();
    if (stats.isSymbolicLink()) throw new SafePathError('escapes', 'the root of the volume is a link');
    if (this.#create === 'as-root') this.#create = stats.mode & 0o2777;
  }

  get #top(): fs.FileHandle {
    const top = this.#stack.at(-1);
    if (top === undefined) throw new Error('a walk has no root');
    return top;
  }

  async run(relative: string): Promise<void> {
    const pending = segments(relative);
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (name === '..') {
        if (this.#stack.length <= 1) throw new SafePathError('escapes', 'the path leads out of the volume');
        await this.#stack.pop()?.close();
        continue;
      }
      const target = await this.#step(name);
      if (target !== undefined) pending.push(...target);
    }
  }

  /** Goes into `name`, or gives the parts of the link that it is. */
  async #step(name: string): Promise<string[] | undefined> {
    if (this.#stack.length > MaxDepth) throw new SafePathError('too-deep', `the path is deeper than ${MaxDepth} directories`);
    const path = `${pathOf(this.#top)}/${name}`;
    const handle = (await open(path)) ?? (await this.#make(path, name));
    let kept = false;
    try {
      const stats = await handle.stat();
      if (!stats.isSymbolicLink()) {
        this.push(handle);
        kept = true;
        return undefined;
      }
    } finally {
      if (!kept) await handle.close();
    }
    if (++this.#links > MaxLinks) throw new SafePathError('too-many-links', 'the path goes through too many links');
    return this.#linkTarget(path, name);
  }

  /** The text of a link is the pod's to choose, also between two looks: it is checked, not trusted. */
  async #linkTarget(path: string, name: string): Promise<string[]> {
    let target: string;
    try {
      target = await fs.readlink(path);
    } catch (err) {
      // No link any more: look again.
      if (isErrno(err, 'EINVAL', 'ENOENT')) return [name];
      throw err;
    }
    if (target.startsWith('/')) throw new SafePathError('escapes', 'the path goes through an absolute link');
    return segments(target);
  }

  async #make(path: string, name: string): Promise<fs.FileHandle> {
    const mode = this.#create;
    if (typeof mode !== 'number') throw new SafePathError('not-found', `${JSON.stringify(name)} does not exist`);
    let created = true;
    await fs.mkdir(path, 0o700).catch((err: unknown) => {
      if (!isErrno(err, 'EEXIST')) throw err;
      created = false;
    });
    const handle = await open(path);
    if (handle === undefined) throw new SafePathError('not-found', `${JSON.stringify(name)} was removed while it was made`);
    // The umask is at work in mkdir(2). Through the descriptor: the name may be another thing by now.
    if (created && (await handle.stat()).isDirectory()) await fs.chmod(pathOf(handle), mode);
    return handle;
  }

  /** Hands over where the walk ended. */
  async take(): Promise<HeldPath> {
    const handle = this.#top;
    const stats = await handle.stat({ bigint: true });
    this.#stack.pop();
    return {
      path: pathOf(handle),
      pathForChild: `/proc/${process.pid}/fd/${handle.fd}`,
      kind: stats.isDirectory() ? 'directory' : 'other',
      dev: stats.dev,
      ino: stats.ino,
      mode: Number(stats.mode & 0o7777n),
      close: () => handle.close(),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#stack.map((handle) => handle.close()));
  }
}

/** Last one first: the order in which they are taken from the end. */
function segments(path: string): string[] {
  return path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .reverse();
}

function pathOf(handle: fs.FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** Undefined when there is nothing of that name. */
async function open(path: string): Promise<fs.FileHandle | undefined> {
  try {
    return await fs.open(path, O_PATH | O_NOFOLLOW);
  } catch (err) {
    if (isErrno(err, 'ENOENT')) return undefined;
    if (isErrno(err, 'ENOTDIR')) throw new SafePathError('not-directory', 'the path goes through a file', err);
    throw err;
  }
}

/** At most `maxBytes` of a held regular file. Rejects for anything else: opening a pipe must not wait for its writer. */
export async function readHeld(held: HeldPath, maxBytes: number): Promise<Buffer> {
  const file = await fs.open(held.path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new SafePathError('not-found', 'not a regular file');
    const buffer = Buffer.alloc(maxBytes);
    const { bytesRead } = await file.read(buffer, 0, maxBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
