import { readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { isErrno } from './files.ts';

/** The root directory belongs to another agent. */
export class RootDirLocked extends Error {
  override readonly name = 'RootDirLocked';
  readonly code = 'root-dir-locked';
  readonly rootDir: string;
  /** Undefined when the holder left no trace of itself. */
  readonly pid: number | undefined;

  constructor(rootDir: string, pid: number | undefined) {
    const who = pid === undefined ? 'another kubelet-ts' : `another kubelet-ts, pid ${pid},`;
    super(`${who} is running on the root directory ${rootDir}: stop it, or choose another one with --root-dir`);
    this.rootDir = rootDir;
    this.pid = pid;
  }
}

export interface Lock {
  release(): Promise<void>;
}

const pidFileName = 'kubelet-ts.pid';

interface Holder {
  pid: number;
  /** Ticks after boot at which the process started: a pid alone may have been given out again. */
  started: string;
  boot: string;
}

/** Start time of a process in clock ticks after boot; undefined when there is none of that pid. */
async function startTime(pid: number | 'self'): Promise<string | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; the 22nd field counts from behind it.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch (error) {
    if (isErrno(error)) return undefined;
    throw error;
  }
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const [pid = '', started = '', boot = ''] = (await readFile(path, 'utf8')).trim().split(/\s+/);
    return /^\d+$/.test(pid) ? { pid: Number(pid), started, boot } : undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Binds the name, which the kernel takes away when this process ends, however it ends. False when it is taken. */
function bind(server: Server, name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => (isErrno(error, 'EADDRINUSE') ? resolve(false) : reject(error)));
    server.listen({ path: name }, () => resolve(true));
  });
}

/**
 * Makes this process the one agent of a root directory, which must exist. Held as an abstract socket named after the
 * directory's device and inode, so that no link or bind mount hides it, and nothing stale stays after SIGKILL; since
 * such names belong to a network namespace, a pid file beside it names the holder to agents in another one. Rejects
 * with RootDirLocked.
 */
export async function lockRootDir(rootDir: string): Promise<Lock> {
  const { dev, ino } = await stat(rootDir);
  const pidFile = join(rootDir, pidFileName);
  const server = createServer((socket) => socket.destroy());
  const holder = await readHolder(pidFile);
  if (!(await bind(server, `\0kubelet-ts/root-dir/${dev}:${ino}`))) throw new RootDirLocked(rootDir, holder?.pid);
  server.unref();
  const boot = await bootId();
  if (holder !== undefined && holder.pid !== process.pid && holder.boot === boot && (await startTime(holder.pid)) === holder.started) {
    server.close();
    throw new RootDirLocked(rootDir, holder.pid);
  }
  await writeFile(pidFile, `${process.pid} ${await startTime('self')} ${boot}\n`, { mode: 0o644 });
  return {
    async release() {
      await unlink(pidFile).catch(() => {});
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
