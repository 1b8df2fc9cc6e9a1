import type { Clock } from '../host/clock.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
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
export class ContainerGcService implements Service {
  readonly name = 'container-gc';
  readonly #deps: ContainerGcServiceDeps;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: ContainerGcServiceDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): void {
    this.#loop = this.#run(signal);
  }

  /** The first round is a minute away: nobody waits for it. */
  async ready(): Promise<void> {}

  /** A round that fails is reported as an event; the agent works on. */
  health(): Health {
    return { ok: true };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, collector, events, node, log } = this.#deps;
    while (!signal.aborted) {
      try {
        await clock.sleep(periodMs, signal);
        await collector.collect(signal);
      } catch (err) {
        if (signal.aborted) return;
        log.error(err, 'Container garbage collection failed');
        events.event(node, 'Warning', 'ContainerGCFailed', err instanceof Error ? err.message : String(err));
      }
    }
  }
}
