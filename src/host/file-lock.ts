import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, stat } from 'node:fs/promises';
import type { Clock } from './clock.ts';

export interface FileLock {
  /** Resolves when another process waits for the lock; rejects when `signal` aborts. */
  contended(clock: Clock, signal: AbortSignal): Promise<void>;
  release(): void;
}

const contentionPollMs = 1_000;

/** `maj:min:inode` as /proc/locks writes it. */
async function lockId(path: string): Promise<string> {
  const { dev, ino } = await stat(path);
  const major = (dev >> 8) & 0xfff;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  const hex = (n: number): string => n.toString(16).padStart(2, '0');
  return `${hex(major)}:${hex(minor)}:${ino}`;
}

/** True when a line of /proc/locks says that somebody waits for the file's lock. */
export function hasWaiter(locks: string, id: string): boolean {
  return locks.split('\n').some((line) => line.includes(' -> FLOCK ') && line.includes(` ${id} `));
}

/**
 * Waits for flock(2) on a file, as the real kubelet's --lock-file does, and creates the file. Node has no such call:
 * util-linux' flock holds it for us, and lets go when our end of its pipe closes, also after SIGKILL.
 */
export async function lockFile(path: string, signal: AbortSignal): Promise<FileLock> {
  await (await open(path, 'a', 0o600)).close();
  const child: ChildProcess = spawn('flock', ['--exclusive', '--no-fork', path, 'sh', '-c', 'echo locked; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const release = (): void => {
    child.stdin?.end();
    child.kill();
  };
  signal.addEventListener('abort', release, { once: true });
  const locked = child.stdout === null ? Promise.reject(new Error('flock has no output')) : once(child.stdout, 'data');
  const ended = once(child, 'exit').then(() => {
    throw new Error(`flock could not lock ${path}`);
  });
  // `once` rejects on 'error', which comes when there is no such program.
  await Promise.race([locked, ended]);
  ended.catch(() => {});
  child.unref();
  return {
    async contended(clock, until) {
      const id = await lockId(path);
      while (!hasWaiter(await readFile('/proc/locks', 'utf8'), id)) await clock.sleep(contentionPollMs, until);
    },
    release,
  };
}
