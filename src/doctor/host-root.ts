import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isErrno } from '../host/files.ts';
import type { RootReader } from './node-root.ts';

const MAX_BYTES = 10 << 20;

/** Reads a node that lies under `root` (`/` is this machine). Links count from the root of the node only as far as they are relative. */
export function hostRoot(root: string): RootReader {
  const at = (path: string) => join(root, path);
  const missing = (err: unknown): undefined => {
    if (isErrno(err, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
    throw err;
  };
  return {
    async fact(path) {
      const found = await stat(at(path)).catch(missing);
      return found === undefined ? undefined : { path, mode: found.mode & 0o7777, uid: found.uid, gid: found.gid };
    },
    async read(path) {
      const found = await stat(at(path)).catch(missing);
      if (found === undefined || !found.isFile() || found.size > MAX_BYTES) return undefined;
      return readFile(at(path), 'utf8').catch(missing);
    },
    async list(folder) {
      const names = (await readdir(at(folder)).catch(missing)) ?? [];
      return names.sort().map((name) => join(folder, name));
    },
    running: () => (root === '/' ? runningKubelet() : Promise.resolve(undefined)),
  };
}

/** The arguments of the first process that shows as `kubelet`. */
async function runningKubelet(): Promise<readonly string[] | undefined> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [text, exe] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      readlink(`/proc/${pid}/exe`).catch(() => ''),
    ]);
    const [name = '', ...args] = text.split('\0').filter((arg) => arg !== '');
    if (basename(name) === 'kubelet' && exe !== '') return args;
  }
  return undefined;
}
