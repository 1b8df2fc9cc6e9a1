import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import type { Logger } from '../observe/log.ts';
import type { NodeInfo } from '../volumes/csi/node-client.ts';

/** The least that a CSIDriver may ask for. */
const LookMs = 10_000;

export interface CsiLimitsDeps {
  clock: Clock;
  log: Logger;
  /** Names of the registered drivers. */
  drivers(): readonly string[];
  /** CSIDriver.spec.nodeAllocatableUpdatePeriodSeconds; undefined: the driver's limit does not change. */
  periodSeconds(driver: string): Promise<number | undefined>;
  ask(driver: string, signal: AbortSignal): Promise<NodeInfo>;
  publish(driver: string, info: NodeInfo, signal: AbortSignal): Promise<void>;
}

/** Asks drivers again how many volumes the node takes, as often as their CSIDriver says (MutableCSINodeAllocatableCount). */
export class CsiLimits extends Rounds {
  override readonly name = 'csi-limits';
  readonly #deps: CsiLimitsDeps;
  /** Monotonic; of the last question, or of the first sight of the driver. */
  readonly #asked = new Map<string, number>();
  readonly #asking = new Set<string>();

  constructor(deps: CsiLimitsDeps) {
    super(deps.clock);
    this.#deps = deps;
  }

  protected override async round(signal: AbortSignal): Promise<number> {
    const names = this.#deps.drivers();
    for (const known of this.#asked.keys()) if (!names.includes(known)) this.#asked.delete(known);
    // None waits for another: one may not answer.
    for (const name of names) void this.#update(name, signal);
    return LookMs;
  }

  async #update(driver: string, signal: AbortSignal): Promise<void> {
    const { clock, log, periodSeconds, ask, publish } = this.#deps;
    const now = clock.monotonic();
    const last = this.#asked.get(driver);
    if (last === undefined) this.#asked.set(driver, now);
    if (last === undefined || this.#asking.has(driver)) return;
    this.#asking.add(driver);
    try {
      const period = await periodSeconds(driver);
      if (period === undefined || period <= 0 || now - last < period * 1000) return;
      this.#asked.set(driver, now);
      await publish(driver, await ask(driver, signal), signal);
    } catch (err) {
      if (!signal.aborted) log.error(err, 'Failed to update the volume limit of the CSI driver', { driver });
    } finally {
      this.#asking.delete(driver);
    }
  }
}
