import type { Clock } from './clock.ts';

/** True when `promise` resolves within `ms`, false when the time runs out before. Rejects when `promise` does. */
export function within(clock: Pick<Clock, 'after'>, promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(false));
    promise.then(
      () => {
        timer.cancel();
        resolve(true);
      },
      (err: unknown) => {
        timer.cancel();
        reject(err as Error);
      },
    );
  });
}
