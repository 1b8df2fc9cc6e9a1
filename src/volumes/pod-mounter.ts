import type { Pod, Volume } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { MountFailure } from './mount-errors.ts';
import type { Operations } from './operations.ts';
import { isFinal, VolumeError } from './volume-error.ts';

/** Contract node.md §10, "wait for pod" and "retry of a failed op". */
export const MountTimeoutMs = 123_000;
export const FirstRetryMs = 500;
export const MaxRetryMs = 122_000;

export interface PodMounterDeps {
  clock: Clock;
  operations: Operations;
  /** Sets up one volume. Idempotent. */
  setUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<void>;
  /** A try has failed. */
  failed(pod: Pod, volume: Volume, cause: unknown): void;
}

interface BackOff {
  /** Of the wait after the last failure, milliseconds. */
  waitMs: number;
  /** Monotonic; not to be tried before. */
  until: number;
  /** What the last try said. */
  cause: unknown;
}

/** The key of what is done to one volume of a pod. */
export const operationOf = (uid: string, volume: string) => `${uid}/${volume}`;

/**
 * Tries to mount the volumes of a pod until all are there or the time of one sync is over. The wait after a failure doubles, over
 * syncs too. A try that does not come back is waited for no longer than any other, and not started a second time.
 */
export class PodMounter {
  readonly #deps: PodMounterDeps;
  readonly #backOffs = new Map<string, BackOff>();
  readonly #waiting = new Map<string, AbortController>();

  constructor(deps: PodMounterDeps) {
    this.#deps = deps;
  }

  /** What is still missing when the time is over; empty when all are mounted. Rejects only when `signal` aborts. */
  async mount(pod: Pod, volumes: readonly Volume[], signal: AbortSignal): Promise<MountFailure[]> {
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + MountTimeoutMs;
    const hopeless = new AbortController();
    const outcomes = await Promise.all(
      volumes.map(async (volume) => {
        const failure = await this.#until(pod, volume, deadline, signal, hopeless.signal);
        if (failure?.isFinal === true) hopeless.abort();
        return failure;
      }),
    );
    signal.throwIfAborted();
    return outcomes.filter((failure) => failure !== undefined);
  }

  /** Something that the pod waited for is there: what has failed is tried again at once. */
  poke(uid: string): void {
    for (const key of this.#backOffs.keys()) if (key.startsWith(`${uid}/`)) this.#backOffs.delete(key);
    this.#waiting.get(uid)?.abort();
    this.#waiting.delete(uid);
  }

  forget(uid: string): void {
    for (const key of this.#backOffs.keys()) if (key.startsWith(`${uid}/`)) this.#backOffs.delete(key);
    this.#waiting.delete(uid);
  }

  async #until(pod: Pod, volume: Volume, deadline: number, signal: AbortSignal, hopeless: AbortSignal): Promise<MountFailure | undefined> {
    const { clock } = this.#deps;
    const key = operationOf(pod.metadata.uid, volume.name);
    for (;;) {
      const { until = 0, cause } = this.#backOffs.get(key) ?? {};
      const pause = until - clock.monotonic();
      if (pause > 0) {
        const left = deadline - clock.monotonic();
        await clock.sleep(Math.min(pause, left), AbortSignal.any([signal, hopeless, this.#pokeOf(pod.metadata.uid)])).catch(() => {});
        if (signal.aborted || hopeless.aborted || clock.monotonic() >= deadline) return { volume: volume.name, cause, isFinal: false };
      }
      try {
        await this.#try(pod, volume, deadline, signal);
        this.#backOffs.delete(key);
        return undefined;
      } catch (cause) {
        const failure = { volume: volume.name, cause, isFinal: isFinal(cause) };
        if (signal.aborted) return failure;
        this.#deps.failed(pod, volume, cause);
        if (failure.isFinal || hopeless.aborted || clock.monotonic() >= deadline) return failure;
        const waitMs = Math.min((this.#backOffs.get(key)?.waitMs ?? FirstRetryMs / 2) * 2, MaxRetryMs);
        this.#backOffs.set(key, { waitMs, until: clock.monotonic() + waitMs, cause });
      }
    }
  }

  /** One try, or the one that has not ended. */
  async #try(pod: Pod, volume: Volume, deadline: number, signal: AbortSignal): Promise<void> {
    const { clock, operations, setUp } = this.#deps;
    const began = clock.monotonic();
    const done = operations.run(operationOf(pod.metadata.uid, volume.name), () => setUp(pod, volume, signal));
    const over = new AbortController();
    const late = clock.sleep(Math.max(0, deadline - began), AbortSignal.any([signal, over.signal])).then(
      () => 'late' as const,
      () => 'ended' as const,
    );
    // Its end is seen by whoever joins it.
    done.catch(() => {});
    const first = await Promise.race([done.then(() => 'done' as const), late]).finally(() => over.abort());
    if (first === 'done') return;
    signal.throwIfAborted();
    const seconds = Math.round((clock.monotonic() - began) / 1000);
    throw new VolumeError('host', `the mount has not ended for ${seconds} s: its file system or server may not answer`);
  }

  #pokeOf(uid: string): AbortSignal {
    let controller = this.#waiting.get(uid);
    if (controller === undefined || controller.signal.aborted) {
      controller = new AbortController();
      this.#waiting.set(uid, controller);
    }
    return controller.signal;
  }
}
