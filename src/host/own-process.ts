import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const prlimitDeadlineMs = 5_000;

/** The name that ps and pgrep show without -f; at most 15 bytes of it count. */
export async function setProcessName(name: string): Promise<void> {
  await writeFile('/proc/self/comm', name);
}

/** -1000 (never killed) to 1000 (killed first). Lowering it needs CAP_SYS_RESOURCE. */
export async function setOomScoreAdj(value: number): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', String(value));
}

/** Soft and hard limit of open files, from /proc/self/limits. `Infinity` for unlimited. */
export function parseOpenFileLimits(limits: string): { soft: number; hard: number } {
  const match = /^Max open files\s+(\S+)\s+(\S+)/m.exec(limits);
  const number = (text: string | undefined): number => (text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text ?? Number.NaN));
  return { soft: number(match?.[1]), hard: number(match?.[2]) };
}

/** Sets RLIMIT_NOFILE, soft and hard, with util-linux' prlimit: Node has no call for it. A no-op when it is that already. */
export async function setMaxOpenFiles(limit: number): Promise<void> {
  const { soft, hard } = parseOpenFileLimits(await readFile('/proc/self/limits', 'utf8'));
  if (soft === limit && hard === limit) return;
  await run('prlimit', ['--pid', String(process.pid), `--nofile=${limit}:${limit}`], { timeout: prlimitDeadlineMs });
}

/** Number of open file descriptors. */
export async function countOpenFiles(): Promise<number> {
  // The directory is itself open while it is read.
  return (await readdir('/proc/self/fd')).length - 1;
}

/**
 * The control group that a process is in, from its /proc/PID/cgroup; undefined where its CPU and memory are counted in
 * different groups (v1), so that there is no such one.
 */
export function cgroupOf(text: string): string | undefined {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const found = /^\d+:([^:]*):(\/.*)$/.exec(line);
    for (const controller of found?.[1]?.split(',') ?? []) paths.set(controller, found?.[2] ?? '');
  }
  const [cpu, memory] = [paths.get('cpu'), paths.get('memory')];
  if (cpu === undefined && memory === undefined) return paths.get('');
  return cpu === memory ? cpu : undefined;
}

/** The control group of this process. */
export async function ownCgroup(): Promise<string | undefined> {
  return cgroupOf(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''));
}
