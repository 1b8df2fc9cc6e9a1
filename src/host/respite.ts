import type { Clock, Timer } from './clock.ts';

/**
 * Does `work` with a signal that aborts `ms` after `signal`: for what had better come to its end than be cut off in the
 * middle. Rejects at once with the signal's reason when that has aborted before.
 */
export async function withRespite<T>(
  clock: Pick<Clock, 'after'>,
  signal: AbortSignal,
  ms: number,
  work: (late: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const late = new AbortController();
  let timer: Timer | undefined;
  const onAbort = () => {
    timer = clock.after(ms, () => late.abort(signal.reason));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await work(late.signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    timer?.cancel();
  }
}
