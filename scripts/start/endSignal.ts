import { readFileSync } from 'node:fs';

/**
 * A signal that aborts when a script is to end: SIGINT, SIGTERM, SIGHUP, nobody left to read its output, or its parent gone.
 * Ctrl-C comes to every process of the terminal, npm among them, and may come twice: the first one counts.
 */
export function endSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort(new Error(signal)));
  // Nobody may be left to read, and the work of ending goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => controller.abort(new Error('the output is closed')));
  // npm may be killed without us: then our parent changes, or that of the shell which npm puts between.
  const parents = ancestors();
  setInterval(() => {
    if (ancestors() !== parents) controller.abort(new Error('the parent process ended'));
  }, 1_000).unref();
  return controller.signal;
}

/** Our parent's pid and, when npm started us, that of its parent. */
function ancestors(): string {
  if (process.env['npm_lifecycle_event'] === undefined) return String(process.ppid);
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`;
  } catch {
    return '';
  }
}
