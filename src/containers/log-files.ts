/** Names of a container's rotated logs, and which of them stay (contract: pod-lifecycle.md §12). Pure. */

export const GZIP_SUFFIX = '.gz';
export const TEMPORARY_SUFFIX = '.tmp';

export interface RotationPlan {
  /** Oldest first. */
  remove: string[];
  /** Rotated before, not yet compressed. */
  compress: string[];
}

/**
 * What is to be done with the old logs (names behind the live one's, `0.log.20260102-030405`) before the live one
 * joins them: what a rotation that failed left goes, and the oldest, so that at most `maxFiles` remain in the end.
 */
export function planRotation(old: readonly string[], maxFiles: number): RotationPlan {
  const all = new Set(old);
  const isUnused = (name: string) => name.endsWith(TEMPORARY_SUFFIX) || (!name.endsWith(GZIP_SUFFIX) && all.has(name + GZIP_SUFFIX));
  const unused = old.filter(isUnused);
  const used = old.filter((name) => !isUnused(name)).sort(byBytes);
  // The live one and the one that it becomes.
  const kept = Math.max(0, maxFiles - 2);
  const excess = used.slice(0, Math.max(0, used.length - kept));
  return { remove: [...unused, ...excess], compress: used.slice(excess.length).filter((name) => !name.endsWith(GZIP_SUFFIX)) };
}

/** `path.20260102-030405`: the time is the node's own. */
export function rotatedName(path: string, now: number): string {
  const date = new Date(now);
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`;
  return `${path}.${day}-${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
}

const byBytes = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
