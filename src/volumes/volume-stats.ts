import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import type { Logger } from '../observe/log.ts';
import type { VolumeUsage } from './usage.ts';

/** Whoever shows or limits what volumes hold reads this. */
export interface VolumeStatsSource {
  /** The last figures of a pod's volumes; empty while there are none. Never waits. */
  ofPod(uid: string): readonly VolumeUsage[];
}

export interface VolumeStatsDeps {
  clock: Clock;
  log: Logger;
  /** The pods whose volumes are mounted. */
  pods(): readonly Pod[];
  /** Rejects only when nothing of the pod can be measured. */
  usageOf(pod: Pod): Promise<VolumeUsage[]>;
  /** volumeStatsAggPeriod, milliseconds; negative: nothing is ever measured. */
  periodMs: number;
}

/** Between two looks for pods that are due: a new pod does not wait for its first figures. Milliseconds. */
const LookMs = 10_000;

/**
 * Measures the volumes of all pods, one pod after another, each once in a period: whoever asks gets the last figures at once, and
 * a file system that does not answer holds up nobody but the next measurement.
 */
export class VolumeStats extends Rounds implements VolumeStatsSource {
  override readonly name = 'volume-stats';
  readonly #deps: VolumeStatsDeps;
  readonly #known = new Map<string, { measuredAt: number; usages: readonly VolumeUsage[] }>();

  constructor(deps: VolumeStatsDeps) {
    super(deps.clock);
    this.#deps = deps;
  }

  ofPod(uid: string): readonly VolumeUsage[] {
    return this.#known.get(uid)?.usages ?? [];
  }

  override start(signal: AbortSignal): void {
    if (this.#deps.periodMs >= 0) super.start(signal);
  }

  /** Measures what is due, and forgets pods that are gone. */
  override async round(signal: AbortSignal): Promise<number> {
    const { pods, clock, periodMs, log } = this.#deps;
    const present = pods();
    const untilNext = Math.min(LookMs, Math.max(periodMs, 1_000));
    const uids = new Set(present.map((pod) => pod.metadata.uid));
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
    for (const pod of present) {
      if (signal.aborted) return untilNext;
      const { uid, namespace, name } = pod.metadata;
      const known = this.#known.get(uid);
      if (known !== undefined && clock.monotonic() - known.measuredAt < periodMs) continue;
      try {
        const usages = await this.#deps.usageOf(pod);
        this.#known.set(uid, { measuredAt: clock.monotonic(), usages });
      } catch (err) {
        // The old figures stay: they are not newer than they say.
        this.#known.set(uid, { measuredAt: clock.monotonic(), usages: known?.usages ?? [] });
        log.error(err, 'Failed to measure the volumes of the pod', { pod: `${namespace}/${name}` });
      }
    }
    return untilNext;
  }
}
