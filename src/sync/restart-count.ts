import { type Files, isErrno } from '../host/files.ts';
import type { ObservedContainer } from '../pleg/types.ts';

/**
 * The restart count of the next instance: one more than the newest one the runtime still knows, else one more than the
 * highest `N.log` in the container's log directory, else 0. So counts go on after the runtime lost its containers.
 */
export async function nextRestartCount(files: Files, logDir: string, newest: ObservedContainer | undefined): Promise<number> {
  if (newest !== undefined) return newest.restartCount + 1;
  try {
    return highestLog((await files.list(logDir)).map((e) => e.name)) + 1;
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return 0;
    throw err;
  }
}

/** The highest N of `N.log` and its rotated forms (`N.log.20300102-030405.gz`); -1 when there is none. */
export function highestLog(names: readonly string[]): number {
  let highest = -1;
  for (const name of names) {
    const count = /^(\d{1,9})\.log(?:\.|$)/.exec(name)?.[1];
    if (count !== undefined) highest = Math.max(highest, Number(count));
  }
  return highest;
}
