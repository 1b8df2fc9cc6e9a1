import type { ContainerEvent, ContainerEventType } from '../../src/cri/types.ts';
import type { Happening } from './journal.ts';
import type { SimMachine } from './machine.ts';

const typeOf: Partial<Record<Happening['kind'], ContainerEventType>> = {
  'container-created': 'CREATED',
  'container-started': 'STARTED',
  'container-exited': 'STOPPED',
  'container-removed': 'DELETED',
  'sandbox-ready': 'STARTED',
  'sandbox-notready': 'STOPPED',
  'sandbox-removed': 'DELETED',
};

interface Subscriber {
  queue: Happening[];
  wake: (() => void) | undefined;
  error: Error | undefined;
}

/** The event stream of a simulated runtime: what happens on the machine, to everyone who listens at that time. */
export class EventTap {
  #subscribers = new Set<Subscriber>();

  constructor(machine: SimMachine) {
    machine.onHappening((h) => {
      if (typeOf[h.kind] === undefined) return;
      for (const s of this.#subscribers) {
        s.queue.push(h);
        s.wake?.();
      }
    });
  }

  /** Ends every stream with `error`. */
  breakAll(error: Error): void {
    for (const s of this.#subscribers) {
      s.error = error;
      s.wake?.();
    }
  }

  async *stream(signal: AbortSignal, nowNs: () => bigint): AsyncIterable<ContainerEvent> {
    const me: Subscriber = { queue: [], wake: undefined, error: undefined };
    const onAbort = () => me.wake?.();
    signal.addEventListener('abort', onAbort);
    this.#subscribers.add(me);
    try {
      while (!signal.aborted) {
        const next = me.queue.shift();
        if (next) {
          const type = typeOf[next.kind];
          if (type) yield { containerId: next.containerId ?? next.sandboxId, type, createdAt: nowNs(), podUid: next.podUid };
          continue;
        }
        if (me.error) throw me.error;
        await new Promise<void>((resolve) => {
          me.wake = resolve;
        });
        me.wake = undefined;
      }
    } finally {
      this.#subscribers.delete(me);
      signal.removeEventListener('abort', onAbort);
    }
  }
}
