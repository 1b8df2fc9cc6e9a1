import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { isErrno } from './files.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** Who owns what is made; undefined leaves it to the kernel (the agent's user, the directory's group). */
export interface Owner {
  uid?: number | undefined;
  gid?: number | undefined;
}

/** What a name is, without following a symlink. */
export interface Identity {
  dev: bigint;
  ino: bigint;
  isDirectory: boolean;
  /** Permission bits. */
  mode: number;
  gid: number;
}

/** Files with an exact mode and owner, and what a name stands for: what volumes need beside Files. */
export interface OwnedFiles {
  /**
   * Makes one directory with exactly `mode`. It is there with mode 0 first and gets `mode` last, so that one that a
   * crash left half made is seen and finished. False: there was a finished one. Rejects when the name is something else.
   */
  makeDirectory(path: string, mode: number, owner?: Owner): Promise<boolean>;
  /** Makes a file that did not exist, with exactly `mode`. Rejects with EEXIST. */
  createFile(path: string, data: Uint8Array, mode: number, owner?: Owner): Promise<void>;
  /** Undefined when there is nothing of that name. */
  identity(path: string): Promise<Identity | undefined>;
  /** The path without links; undefined when there is nothing. */
  realpath(path: string): Promise<string | undefined>;
}

export const nodeOwnedFiles: OwnedFiles = {
  async makeDirectory(path, mode, owner) {
    try {
      await fs.mkdir(path, 0);
    } catch (err) {
      if (!isErrno(err, 'EEXIST')) throw err;
      const stats = await fs.lstat(path);
      if (!stats.isDirectory()) throw err;
      if ((stats.mode & 0o7777) !== 0) return false;
    }
    await changeOwner(fs.lchown, path, owner);
    await fs.chmod(path, mode);
    return true;
  },

  async createFile(path, data, mode, owner) {
    const file = await fs.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await file.writeFile(data);
      await changeOwner((_, uid, gid) => file.chown(uid, gid), path, owner);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  },

  async identity(path) {
    const stats = await fs.lstat(path, { bigint: true }).catch(undefinedIfMissing);
    if (stats === undefined) return undefined;
    return { dev: stats.dev, ino: stats.ino, isDirectory: stats.isDirectory(), mode: Number(stats.mode & 0o7777n), gid: Number(stats.gid) };
  },

  realpath: (path) => fs.realpath(path).catch(undefinedIfMissing),
};

function undefinedIfMissing(err: unknown): undefined {
  if (!isErrno(err, 'ENOENT', 'ENOTDIR')) throw err;
}

async function changeOwner(
  chown: (path: string, uid: number, gid: number) => Promise<void>,
  path: string,
  owner: Owner = {},
): Promise<void> {
  const { uid = -1, gid = -1 } = owner;
  if (uid !== -1 || gid !== -1) await chown(path, uid, gid);
}
