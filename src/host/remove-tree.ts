import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isErrno } from './files.ts';
import type { MountEntry } from './mounts.ts';
import { readMounts } from './mounts.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Directories held open at once. A deeper one is first moved up to the top, so that depth costs no descriptors. */
const MaxDepth = 32;

/**
 * Removes `path` and everything below it. Symlinks are removed, never followed, also when one is swapped in while
 * the walk is under way: each directory is opened with O_NOFOLLOW and its entries are named through its descriptor.
 * A missing path is no error. A mount at or below `path` is refused with code EXDEV before anything is removed.
 */
export async function removeTree(path: string): Promise<void> {
  const stats = await fs.lstat(path).catch((err: unknown) => {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return undefined;
    throw err;
  });
  if (stats === undefined) return;
  if (!stats.isDirectory()) {
    await fs.unlink(path);
    return;
  }
  const real = join(await fs.realpath(dirname(path)), basename(path));
  // st_dev alone, compared below, does not show a bind mount of the same file system.
  const mounted = mountBelow(real, await readMounts());
  if (mounted !== undefined) throw mountError(path, mounted);
  const top = await fs.open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const { dev } = await top.stat();
    await emptyDirectory(top, { path: real, device: dev, top, moved: [] }, 1);
  } finally {
    await top.close();
  }
  await fs.rmdir(real).catch(ignoreMissing);
}

interface Walk {
  readonly path: string;
  readonly device: number;
  readonly top: fs.FileHandle;
  /** Names in the top directory of what was too deep. */
  readonly moved: string[];
}

/** The first mount point at `path` or below it. `path` holds no symlinks. */
export function mountBelow(path: string, mounts: readonly MountEntry[]): string | undefined {
  return mounts.find((mount) => mount.mountPoint === path || mount.mountPoint.startsWith(`${path}/`))?.mountPoint;
}

async function emptyDirectory(dir: fs.FileHandle, walk: Walk, depth: number): Promise<void> {
  const base = `/proc/self/fd/${dir.fd}`;
  for (const entry of await fs.readdir(base, { withFileTypes: true })) {
    const name = `${base}/${entry.name}`;
    if (!entry.isDirectory()) {
      await fs.unlink(name).catch(ignoreMissing);
    } else if (depth >= MaxDepth) {
      const up = `.removing-${randomBytes(8).toString('hex')}`;
      await fs.rename(name, `/proc/self/fd/${walk.top.fd}/${up}`);
      walk.moved.push(up);
    } else {
      await removeDirectory(name, walk, depth);
    }
  }
  if (depth > 1) return;
  for (let up = walk.moved.pop(); up !== undefined; up = walk.moved.pop()) {
    await removeDirectory(`${base}/${up}`, walk, depth);
  }
}

async function removeDirectory(name: string, walk: Walk, depth: number): Promise<void> {
  const child = await fs.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    if ((await child.stat()).dev !== walk.device) throw mountError(walk.path, await fs.readlink(`/proc/self/fd/${child.fd}`));
    await emptyDirectory(child, walk, depth + 1);
  } finally {
    await child.close();
  }
  await fs.rmdir(name).catch(ignoreMissing);
}

function mountError(path: string, mountPoint: string): Error {
  const message = `refusing to remove ${path}: ${mountPoint} is a mount point, unmount it first`;
  return Object.assign(new Error(message), { code: 'EXDEV', path: mountPoint });
}

function ignoreMissing(err: unknown): void {
  if (!isErrno(err, 'ENOENT')) throw err;
}
