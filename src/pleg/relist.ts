import type { PodUid } from '../api/brands.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { eventsBetween, type PodRecord, recordsOf } from './record.ts';
import type { PodLifecycleEvent } from './types.ts';

/** Contract pod-lifecycle §15: one relist a second; unhealthy when none succeeded for three minutes. */
const RELIST_PERIOD_MS = 1_000;
const QUIET_PERIOD_MS = 5_000;
const HEALTH_THRESHOLD_MS = 180_000;

export interface RelistMetrics {
  relisted(seconds: number, sinceLastSeconds: number | undefined): void;
}

export interface RelistDeps {
  runtime: Pick<CriRuntime, 'listPodSandbox' | 'listContainers' | 'containerEvents'>;
  clock: Clock;
  log: Logger;
  /** Takes the changes of one pod. The record of the pod advances only when this returned without throwing. */
  changed(uid: PodUid, events: PodLifecycleEvent[]): void;
  /** Called after each complete list with every pod that the runtime knows. */
  listed?(records: ReadonlyMap<PodUid, PodRecord>): void;
  metrics?: RelistMetrics;
  /** Use the runtime's event stream as a hint (it may be missing: then the period stays one second). */
  useEvents: boolean;
}

/**
 * The pod lifecycle event generator: two list calls for the whole node once a second, compared with the last ones.
 * A failed or partial list removes nothing. The runtime's event stream, where it exists, only makes the next list
 * come at once and lets a quiet node be listed less often.
 */
export class Relist implements Service {
  readonly name = 'pleg';
  readonly #deps: RelistDeps;
  readonly #pause: Pause;
  #records = new Map<PodUid, PodRecord>();
  #lastSuccess: number | undefined;
  #startedAt = 0;
  #streamHealthy = false;
  #loop: Promise<void> = Promise.resolve();
  #stream: Promise<void> = Promise.resolve();
  readonly #first = Promise.withResolvers<void>();

  constructor(deps: RelistDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    this.#startedAt = this.#deps.clock.monotonic();
    this.#loop = this.#run(signal);
    if (this.#deps.useEvents) this.#stream = this.#follow(signal);
  }

  ready(): Promise<void> {
    return this.#first.promise;
  }

  /** Every pod of the last complete list. */
  records(): ReadonlyMap<PodUid, PodRecord> {
    return this.#records;
  }

  /** Clock.monotonic() when the last complete list was asked for; undefined before the first one. */
  listedAt(): number | undefined {
    return this.#lastSuccess;
  }

  /** True once the runtime has been listed whole: before that nothing can be said of what it does not hold. */
  get hasListed(): boolean {
    return this.#lastSuccess !== undefined;
  }

  /** Lists as soon as possible instead of at the next tick. */
  poke(): void {
    this.#pause.poke();
  }

  health(): Health {
    const age = this.#deps.clock.monotonic() - (this.#lastSuccess ?? this.#startedAt);
    if (age <= HEALTH_THRESHOLD_MS) return { ok: true };
    return { ok: false, reason: `pleg was last seen active ${Math.round(age / 1000)}s ago; threshold is 3m0s` };
  }

  async stop(): Promise<void> {
    await this.#loop;
    await this.#stream;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const changed = await this.#once(signal);
      const period = this.#streamHealthy && !changed ? QUIET_PERIOD_MS : RELIST_PERIOD_MS;
      await this.#pause.wait(period, signal);
    }
  }

  async #once(signal: AbortSignal): Promise<boolean> {
    const { clock, runtime, log, metrics } = this.#deps;
    const begun = clock.monotonic();
    try {
      const [sandboxes, containers] = await Promise.all([
        runtime.listPodSandbox(undefined, { signal }),
        runtime.listContainers(undefined, { signal }),
      ]);
      const ended = clock.monotonic();
      metrics?.relisted((ended - begun) / 1000, this.#lastSuccess === undefined ? undefined : (begun - this.#lastSuccess) / 1000);
      this.#lastSuccess = begun;
      return this.#compare(recordsOf(sandboxes, containers));
    } catch (err) {
      if (!signal.aborted) log.error(err, 'GenericPLEG: Unable to retrieve pods');
      return true;
    }
  }

  #compare(next: Map<PodUid, PodRecord>): boolean {
    let any = false;
    const before = this.#records;
    for (const uid of new Set([...before.keys(), ...next.keys()])) {
      const events = eventsBetween(before.get(uid), next.get(uid));
      if (events.length === 0) continue;
      any = true;
      try {
        this.#deps.changed(uid, events);
      } catch (err) {
        this.#deps.log.error(err, 'PLEG: a change was not taken, it is told again', { podUID: uid });
        const old = before.get(uid);
        if (old === undefined) next.delete(uid);
        else next.set(uid, old);
      }
    }
    this.#records = next;
    this.#deps.listed?.(next);
    this.#first.resolve();
    return any;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { runtime, clock, log } = this.#deps;
    for (let delay = 1_000; !signal.aborted; delay = Math.min(delay * 2, 60_000)) {
      try {
        const stream = runtime.containerEvents(signal);
        this.#streamHealthy = true;
        for await (const event of stream) {
          delay = 1_000;
          if (event.type !== 'CREATED') this.poke();
        }
      } catch (err) {
        if (isCriError(err, 'Unimplemented')) {
          log.debug(2, 'The runtime has no event stream, relisting once a second');
          return;
        }
        if (!signal.aborted) log.debug(2, 'The event stream of the runtime ended', { err });
      } finally {
        this.#streamHealthy = false;
      }
      await clock.sleep(delay, signal).catch(() => undefined);
    }
  }
}
