import type { EventObject, EventRecorder } from './events.ts';
import type { Logger } from './log.ts';

/** Events of a node without an API server: a line in the log each, and in the record of the pod. */
export class LogEvents implements EventRecorder {
  readonly #log: Logger;
  readonly #note: (uid: string, what: string, detail?: string) => void;

  constructor(log: Logger, note: (uid: string, what: string, detail?: string) => void) {
    this.#log = log;
    this.#note = note;
  }

  event(object: EventObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { kind, namespace, name, uid, fieldPath = '' } = object;
    if (kind === 'Pod') this.#note(uid, `event ${reason}`, message);
    const values = { object: namespace === '' ? name : `${namespace}/${name}`, fieldPath, kind, apiVersion: 'v1', type, reason, message };
    if (type === 'Warning') this.#log.info('Event occurred', values);
    else this.#log.debug(2, 'Event occurred', values);
  }
}
