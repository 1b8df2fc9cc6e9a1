/**
 * Exponential back-off per key. All times are milliseconds on one timeline of the caller's choice (monotonic, so that
 * a step of the wall clock neither stretches nor skips a wait). Contract: pod-lifecycle.md §5 CrashLoopBackOff, §6.
 */

export interface BackoffPolicy {
  /** The first delay. */
  initialMs: number;
  /** Delays double up to this. */
  maxMs: number;
  /** An entry is forgotten when the next event comes more than this after its last update. */
  forgetAfterMs: number;
}

/** What is remembered of one key. */
export interface BackoffEntry {
  readonly delayMs: number;
  readonly updatedAt: number;
}

/** 10 s doubling to 300 s, forgotten after 600 s: image pulls, and container restarts unless configured otherwise. */
export const defaultBackoffPolicy: BackoffPolicy = { initialMs: 10_000, maxMs: 300_000, forgetAfterMs: 600_000 };

/**
 * The policy for container restarts with `crashLoopBackOff.maxContainerRestartPeriod`. The forgetting time stays
 * 600 s whatever the maximum is.
 */
export function restartBackoffPolicy(maxMs: number, initialMs: number = defaultBackoffPolicy.initialMs): BackoffPolicy {
  return { initialMs: Math.min(initialMs, maxMs), maxMs, forgetAfterMs: defaultBackoffPolicy.forgetAfterMs };
}

/** True when `entry` no longer counts for an event at `eventTime`. */
export function isForgotten(entry: BackoffEntry | undefined, policy: BackoffPolicy, eventTime: number): boolean {
  return entry === undefined || eventTime - entry.updatedAt > policy.forgetAfterMs;
}

/**
 * Milliseconds that are left to wait, 0 when the next try may go. `since` is the event that the delay is measured
 * from: the end of the last run for a container, the failure itself (`entry.updatedAt`) for a pull.
 */
export function backoffRemaining(entry: BackoffEntry | undefined, policy: BackoffPolicy, since: number, now: number): number {
  if (entry === undefined || isForgotten(entry, policy, since)) return 0;
  return Math.max(0, entry.delayMs - (now - since));
}

/** The entry after one more event: the initial delay for a new or forgotten key, else twice the last, capped. */
export function nextBackoff(entry: BackoffEntry | undefined, policy: BackoffPolicy, eventTime: number, now: number): BackoffEntry {
  if (entry === undefined || isForgotten(entry, policy, eventTime)) {
    return { delayMs: Math.min(policy.initialMs, policy.maxMs), updatedAt: now };
  }
  return { delayMs: Math.min(entry.delayMs * 2, policy.maxMs), updatedAt: now };
}

/** Entries by key, on the functions above. */
export class BackoffTable {
  readonly policy: BackoffPolicy;
  readonly #entries = new Map<string, BackoffEntry>();

  constructor(policy: BackoffPolicy = defaultBackoffPolicy) {
    this.policy = policy;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The current delay of `key`, 0 when it has none. */
  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Milliseconds left before `key` may be tried, measured from the event at `since`. */
  remainingSince(key: string, since: number, now: number): number {
    return backoffRemaining(this.#entries.get(key), this.policy, since, now);
  }

  /** Milliseconds left before `key` may be tried, measured from its last `next`. */
  remaining(key: string, now: number): number {
    const entry = this.#entries.get(key);
    if (isForgotten(entry, this.policy, now)) return 0;
    return entry === undefined ? 0 : Math.max(0, entry.delayMs - (now - entry.updatedAt));
  }

  /** Records one more event and returns the delay that now holds. */
  next(key: string, eventTime: number, now: number): number {
    const entry = nextBackoff(this.#entries.get(key), this.policy, eventTime, now);
    this.#entries.set(key, entry);
    return entry.delayMs;
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Drops every key that would be forgotten by an event at `now`. */
  collect(now: number): void {
    for (const [key, entry] of this.#entries) if (isForgotten(entry, this.policy, now)) this.#entries.delete(key);
  }
}
