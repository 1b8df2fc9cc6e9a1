import { BackoffTable, restartBackoffPolicy } from '../api/backoff.ts';
import type { Container, Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { ObservedContainer } from '../pleg/types.ts';
import type { BackOffWait } from './actions.ts';

/** The identity of a back-off: a new image or new resources begin afresh (contract: pod-lifecycle §5). */
export type BackOffKey = (pod: Pod, container: Container) => string;

/**
 * CrashLoopBackOff: the first restart is immediate, then 10, 20, 40 s ... up to the maximum, measured from the end of
 * the last run on the monotonic clock (the wall clock counts only for what ended before this process saw it).
 */
export class CrashLoop {
  readonly #table: BackoffTable;
  readonly #clock: Clock;
  readonly #key: BackOffKey;
  readonly #exitedAt = new Map<string, number>();

  constructor(clock: Clock, key: BackOffKey, maxMs: number) {
    this.#clock = clock;
    this.#key = key;
    this.#table = new BackoffTable(restartBackoffPolicy(maxMs));
  }

  /** The wait of a container whose newest instance is `exited`; undefined when it may start now. */
  wait(pod: Pod, container: Container, exited: ObservedContainer): Pick<BackOffWait, 'remainingMs' | 'delayMs'> | undefined {
    const key = this.#key(pod, container);
    const remainingMs = this.#table.remainingSince(key, this.#endOf(exited), this.#clock.monotonic());
    return remainingMs > 0 ? { remainingMs, delayMs: this.#table.delay(key) } : undefined;
  }

  /** Notes that the container starts again after `exited`: the next wait is twice as long. */
  restarted(pod: Pod, container: Container, exited: ObservedContainer): void {
    this.#table.next(this.#key(pod, container), this.#endOf(exited), this.#clock.monotonic());
    this.#exitedAt.delete(exited.id);
  }

  /** Forgets what is old: entries without an event for ten minutes, ends of containers that are gone. */
  collect(alive: (id: string) => boolean): void {
    this.#table.collect(this.#clock.monotonic());
    for (const id of this.#exitedAt.keys()) if (!alive(id)) this.#exitedAt.delete(id);
  }

  #endOf(exited: ObservedContainer): number {
    const known = this.#exitedAt.get(exited.id);
    if (known !== undefined) return known;
    const now = this.#clock.monotonic();
    const ago = this.#clock.now() - Number(exited.status.finishedAt / 1_000_000n);
    const end = now - Math.max(0, ago);
    this.#exitedAt.set(exited.id, end);
    return end;
  }
}
