import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { ContainerCollector } from './container-collector.ts';

export interface ContainerGcServiceDeps {
  collector: Pick<ContainerCollector, 'collect'>;
  clock: Clock;
  events: EventRecorder;
  /** The node: what its events are about. */
  node: EventObject;
  log: Logger;
}

/** Time between two rounds (contract: pod-lifecycle.md §16). */
const periodMs = 60_000;

/** Runs the container collector once a minute; a round that fails is an event of the node and tried again. */
export class ContainerGcService extends Rounds {
  override readonly name = 'container-gc';
  readonly #deps: ContainerGcServiceDeps;

  constructor(deps: ContainerGcServiceDeps) {
    super(deps.clock, periodMs);
    this.#deps = deps;
  }

  protected override async round(signal: AbortSignal): Promise<number> {
    const { collector, events, node, log } = this.#deps;
    try {
      await collector.collect(signal);
    } catch (err) {
      if (signal.aborted) return periodMs;
      log.error(err, 'Container garbage collection failed');
      events.event(node, 'Warning', 'ContainerGCFailed', err instanceof Error ? err.message : String(err));
    }
    return periodMs;
  }
}
