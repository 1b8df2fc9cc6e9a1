import type { Klog } from '../observe/klog.ts';

/** What a Go program exits with when it panics: units and monitors that tell crashes apart keep working. */
export const crashExitCode = 2;

/** The first place of our own code in a stack trace: `podWorker (src/pods/worker.ts:12)`. */
export function culprit(error: unknown): string {
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').slice(1) : [];
  const own = frames.find((frame) => frame.includes('/') && !frame.includes('node_modules') && !frame.includes('node:'));
  const match = /at (?:(.*) \()?(?:file:\/\/)?(\S+?):(\d+):\d+\)?$/.exec((own ?? frames[0] ?? '').trim());
  if (match === null) return 'unknown';
  const path = match[2] ?? '';
  const file = path.slice(Math.max(path.lastIndexOf('/src/') + 1, 0));
  return `${match[1] ?? 'top level'} (${file}:${match[3]})`;
}

/**
 * An error that nobody caught ends the process at once with its culprit and stack in the log. Containers are not
 * touched, and the next start finds them.
 */
export function crashOnUncaught(log: Klog): void {
  process.on('uncaughtException', (error, origin) => {
    log.error(error, 'The agent crashed', { culprit: culprit(error), origin, stack: error instanceof Error ? error.stack : String(error) });
    log.flush();
    process.exit(crashExitCode);
  });
}
