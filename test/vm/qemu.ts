import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RootImage } from './rootImage.ts';

export interface Machine {
  root: RootImage;
  /** The disk with what the guest runs. */
  payload: string;
  /** Folder for the console's log. */
  folder: string;
  memoryMiB: number;
  cpus: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** A line of the guest's second serial port. */
  line(text: string): void;
}

/**
 * Boots the machine and resolves when it has switched itself off, with the console's last lines. Its system disk is thrown
 * away. Emulated on purpose: nothing depends on whether this host may use its processor's virtual machines.
 */
export async function boot(machine: Machine): Promise<string[]> {
  const { root, payload, folder, memoryMiB, cpus, timeoutMs, signal } = machine;
  const console = join(folder, 'console.log');
  const told = join(folder, 'told.log');
  for (const file of [console, told]) await rm(file, { force: true });
  const child = spawn(
    'qemu-system-x86_64',
    [
      ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-m', String(memoryMiB), '-smp', String(cpus)],
      ...['-display', 'none', '-no-reboot', '-nic', 'none', '-monitor', 'none'],
      ...['-kernel', root.kernel, '-initrd', root.initrd],
      ...['-append', 'root=/dev/vda rw console=ttyS0 systemd.unified_cgroup_hierarchy=1 panic=1 quiet'],
      ...['-drive', `file=${root.disk},format=raw,if=virtio,snapshot=on`],
      ...['-drive', `file=${payload},format=raw,if=virtio,readonly=on`],
      ...['-serial', `file:${console}`, '-serial', `file:${told}`],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const ended = new AbortController();
  const exit = once(child, 'exit').finally(() => ended.abort());
  const stop = () => child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  const late = setTimeout(stop, timeoutMs);
  try {
    await follow(told, ended.signal, machine.line);
    await exit;
    const log = await readFile(console, 'utf8').catch(() => '');
    return log.split('\n').slice(-25);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
    if (child.exitCode === null) stop();
  }
}

/** Hands on every line that is appended to a file, until `ended`. */
async function follow(path: string, ended: AbortSignal, line: (text: string) => void): Promise<void> {
  let offset = 0;
  let rest = '';
  for (;;) {
    const last = ended.aborted;
    const file = await open(path).catch(() => undefined);
    if (file !== undefined) {
      const { size } = await file.stat();
      const chunk = Buffer.alloc(Math.max(0, size - offset));
      await file.read(chunk, 0, chunk.length, offset);
      await file.close();
      offset += chunk.length;
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const text of lines) line(text.trimEnd());
    }
    if (last) return;
    await sleep(500);
  }
}
