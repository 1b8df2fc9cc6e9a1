import { randomBytes } from 'node:crypto';
import type { Dirent, Stats } from 'node:fs';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DirEntry, FileInfo, Files } from './files.ts';
import { isErrno } from './files.ts';
import { removeTree } from './remove-tree.ts';

/** The most that one `read` returns when the caller names no limit. */
export const DefaultReadLimit = 10 * 1024 * 1024;

const ReadChunk = 64 * 1024;
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;

type Typed = Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isSocket' | 'isFIFO' | 'isCharacterDevice' | 'isBlockDevice'>;

/** The real file system. Node opens every descriptor with O_CLOEXEC, so none reaches a child process. */
export const nodeFiles: Files = {
  async mkdir(path, mode) {
    await makeDirectories(path, mode);
  },

  async read(path, maxBytes = DefaultReadLimit) {
    // O_NONBLOCK: opening a fifo that nobody writes to must not hold a thread for ever.
    const file = await fs.open(path, O_RDONLY | O_NONBLOCK);
    try {
      await requireRegular(file, path);
      return await readUpTo(file, maxBytes);
    } finally {
      await file.close();
    }
  },

  async write(path, data, mode) {
    const file = await fs.open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode);
    try {
      await requireRegular(file, path);
      // Truncated only once it is known to be a regular file.
      await file.truncate(0);
      await file.chmod(mode);
      await file.writeFile(data);
    } finally {
      await file.close();
    }
  },

  async writeAtomic(path, data, mode) {
    const temporary = temporaryName(path);
    const file = await fs.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW, mode);
    try {
      try {
        await file.chmod(mode);
        await file.writeFile(data);
        await file.sync();
      } finally {
        await file.close();
      }
      await fs.rename(temporary, path);
    } catch (err) {
      await fs.unlink(temporary).catch(() => {});
      throw err;
    }
  },

  async list(path) {
    const entries = await fs.readdir(path, { withFileTypes: true });
    return entries.map(toDirEntry).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  },

  stat: (path) => fs.stat(path).then(toFileInfo, undefinedIfMissing),
  lstat: (path) => fs.lstat(path).then(toFileInfo, undefinedIfMissing),
  readlink: (path) => fs.readlink(path),

  async symlink(target, path) {
    try {
      await fs.symlink(target, path);
    } catch (err) {
      if (!isErrno(err, 'EEXIST') || !(await fs.lstat(path)).isSymbolicLink()) throw err;
      const temporary = temporaryName(path);
      await fs.symlink(target, temporary);
      try {
        await fs.rename(temporary, path);
      } catch (renameError) {
        await fs.unlink(temporary).catch(() => {});
        throw renameError;
      }
    }
  },

  rename: (from, to) => fs.rename(from, to),
  unlink: (path) => fs.unlink(path).catch(ignoreMissing),
  rmdir: (path) => fs.rmdir(path).catch(ignoreMissing),
  removeTree,
};

async function makeDirectories(path: string, mode: number): Promise<void> {
  try {
    await fs.mkdir(path, mode);
  } catch (err) {
    if (isErrno(err, 'EEXIST')) {
      if ((await fs.stat(path)).isDirectory()) return;
      throw err;
    }
    const parent = dirname(path);
    if (!isErrno(err, 'ENOENT') || parent === path) throw err;
    await makeDirectories(parent, mode);
    await fs.mkdir(path, mode).catch((again: unknown) => {
      if (!isErrno(again, 'EEXIST')) throw again;
    });
  }
  // mkdir(2) applies the umask; the contract's modes are exact.
  await fs.chmod(path, mode);
}

async function requireRegular(file: fs.FileHandle, path: string): Promise<void> {
  const stats = await file.stat();
  if (stats.isFile()) return;
  const code = stats.isDirectory() ? 'EISDIR' : 'EINVAL';
  throw Object.assign(new Error(`${code}: ${path} is a ${kindOf(stats)}, not a regular file`), { code, path });
}

async function readUpTo(file: fs.FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(ReadChunk, limit - total));
    const { bytesRead } = await file.read(chunk, 0, chunk.length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, total);
}

/** A dot in front: directory sources and log readers skip such names. */
function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path).slice(0, 200)}.${randomBytes(6).toString('hex')}.tmp`);
}

function toFileInfo(stats: Stats): FileInfo {
  return { kind: kindOf(stats), size: stats.size, mode: stats.mode & 0o7777, mtimeMs: stats.mtimeMs };
}

function toDirEntry(entry: Dirent): DirEntry {
  return { name: entry.name, kind: kindOf(entry) };
}

function kindOf(entry: Typed): FileInfo['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isSocket()) return 'socket';
  if (entry.isFIFO()) return 'fifo';
  if (entry.isCharacterDevice()) return 'character';
  if (entry.isBlockDevice()) return 'block';
  return 'other';
}

function undefinedIfMissing(err: unknown): undefined {
  if (!isErrno(err, 'ENOENT', 'ENOTDIR')) throw err;
}

function ignoreMissing(err: unknown): void {
  if (!isErrno(err, 'ENOENT')) throw err;
}
