import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that cannot be mistaken for a later one with the same pid: `start` is its start time in ticks since boot. */
export interface ProcessRef {
  pid: number;
  start: string;
}

/** The process as it is now, or undefined when there is none (a zombie counts as none). */
export async function processRef(pid: number): Promise<ProcessRef | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold blanks and parentheses: fields count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const start = fields[19];
    if (start === undefined || fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return { pid, start };
  } catch {
    return undefined;
  }
}

/** True while exactly this process lives. */
export async function isAlive(ref: ProcessRef): Promise<boolean> {
  return (await processRef(ref.pid))?.start === ref.start;
}

/** Every process for which `matches(argv)` holds. Kernel threads have an empty argv and never match. */
export async function findProcesses(matches: (argv: readonly string[]) => boolean): Promise<ProcessRef[]> {
  const found: ProcessRef[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    const pid = Number(name);
    let argv: string[];
    try {
      argv = (await readFile(`/proc/${name}/cmdline`, 'utf8')).split('\0').slice(0, -1);
    } catch {
      continue;
    }
    if (argv.length === 0 || !matches(argv)) continue;
    const ref = await processRef(pid);
    if (ref !== undefined) found.push(ref);
  }
  return found;
}

/** Sends a signal to exactly this process; false when it is gone. Never reaches pid 1 or this process itself. */
export async function signalProcess(ref: ProcessRef, signal: NodeJS.Signals): Promise<boolean> {
  if (ref.pid <= 1 || ref.pid === process.pid || !(await isAlive(ref))) return false;
  try {
    process.kill(ref.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Waits until all are gone; false when some still live after `timeoutMs`. */
export async function waitGone(refs: readonly ProcessRef[], timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  let left = [...refs];
  for (;;) {
    const alive = await Promise.all(left.map(isAlive));
    left = left.filter((_, i) => alive[i]);
    if (left.length === 0) return true;
    if (performance.now() > end) return false;
    await sleep(10);
  }
}

/** SIGTERM, then SIGKILL for those that live on after `graceMs`. */
export async function endProcesses(refs: readonly ProcessRef[], graceMs: number): Promise<void> {
  if (graceMs > 0) {
    for (const ref of refs) await signalProcess(ref, 'SIGTERM');
    if (await waitGone(refs, graceMs)) return;
  }
  for (const ref of refs) await signalProcess(ref, 'SIGKILL');
  await waitGone(refs, 5_000);
}
