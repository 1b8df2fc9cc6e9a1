/** A pending timer; `cancel` is idempotent and safe after it fired. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time. `now` is wall-clock milliseconds (what the API shows), `monotonic` is milliseconds
 * from an arbitrary origin (what back-off and grace run on).
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Calls `fn` once after `ms`. The timer keeps the process alive unless `background` is true. */
  after(ms: number, fn: () => void, background?: boolean): Timer;
  /** Resolves after `ms`; rejects with the signal's reason when `signal` aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn, background = false) {
    const handle = setTimeout(fn, ms);
    if (background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  sleep(ms, signal) {
    return sleepWith(this, ms, signal);
  },
};

/** `sleep` in terms of `after`: shared by every Clock. */
export function sleepWith(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
