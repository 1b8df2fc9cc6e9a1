import { timeFromMs } from '../api/time.ts';
import { Background } from '../host/background.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { EventAnnotations, EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { KubeApi } from './api.ts';
import { isKubeError } from './errors.ts';
import { type CorrelatedEvent, EventCorrelator, type RawEvent } from './event-correlator.ts';
import { createEvent, patchEvent } from './typed.ts';
import type { KubeEvent } from './types.ts';

/** client-go's figures. */
const QueueSize = 1000;
const MaxTries = 12;
const RetryMs = 10_000;
/** No message of ours is longer; texts of runtimes and plug-ins within them may be. */
const MaxMessage = 32 * 1024;
const RequestTimeoutMs = 60_000;

export interface ApiEventsDeps {
  /** With the limits eventRecordQPS and eventBurst. */
  api: KubeApi;
  nodeName: string;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Gets every event as well: the log and the pod's record. */
  also?: EventRecorder;
}

/**
 * Writes events to the API server (core/v1), in order, without ever making a caller wait: at most 1000 stand in the
 * queue, more are dropped and counted. Without a server each is tried 12 times, 10 s apart; one that the server refuses
 * is dropped at once.
 */
export class ApiEvents extends Background implements EventRecorder {
  override readonly name = 'events';
  readonly #deps: ApiEventsDeps;
  readonly #correlator = new EventCorrelator();
  readonly #queue: RawEvent[] = [];
  #lastName = 0n;
  #dropped = 0;
  #wake: (() => void) | undefined;

  constructor(deps: ApiEventsDeps) {
    super();
    this.#deps = deps;
  }

  /** Events that found the queue full. */
  get dropped(): number {
    return this.#dropped;
  }

  event(object: EventObject, type: 'Normal' | 'Warning', reason: string, message: string, annotations?: EventAnnotations): void {
    const { clock, also, log } = this.#deps;
    also?.event(object, type, reason, message, annotations);
    if (this.#queue.length >= QueueSize) {
      if (this.#dropped++ === 0) log.warn('The queue of events is full, events are dropped', { size: QueueSize });
      return;
    }
    const times = { at: clock.now(), monotonic: clock.monotonic() };
    const name = this.#eventName(object.name);
    this.#queue.push({ object, type, reason, message: message.slice(0, MaxMessage), annotations, ...times, name });
    this.#wake?.();
  }

  protected override async run(signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      const event = this.#queue.shift();
      if (event) {
        const correlated = this.#correlator.correlate(event);
        if (correlated) await this.#send(correlated, signal);
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
  }

  async #send(event: CorrelatedEvent, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const { reason, object } = event;
    const about = { object: `${object.namespace}/${object.name}`, kind: object.kind, reason };
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await this.#write(event, signal);
        this.#correlator.written(event.key, event.name, event.count, event.firstAt);
        return;
      } catch (err) {
        if (!isKubeError(err)) throw err;
        if (signal.aborted) return;
        // An answer is an answer; only who was not heard tries again.
        if (err.status >= 400) {
          if (err.code === 'AlreadyExists' || err.causes.includes('NamespaceTerminating')) {
            log.debug(2, 'Server rejected event (will not retry)', { ...about, code: err.code });
          } else log.warn('Server rejected event (will not retry)', { ...about, code: err.code, cause: err.message });
          return;
        }
        if (tries >= MaxTries) {
          log.warn('Unable to write event (retry limit exceeded)', { ...about, cause: err.message });
          return;
        }
        log.debug(2, 'Unable to write event (may retry after sleeping)', { ...about, cause: err.message });
        // The first wait differs from node to node, so that they do not come back together.
        await clock.sleep(tries === 1 ? RetryMs * random.float() : RetryMs, signal).catch(() => {});
      }
    }
  }

  async #write(event: CorrelatedEvent, signal: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    const options = { signal, timeoutMs: RequestTimeoutMs };
    const namespace = event.object.namespace || 'default';
    if (event.exists) {
      const patch = { count: event.count, lastTimestamp: timeFromMs(event.lastAt), message: event.message };
      try {
        await patchEvent(api, namespace, event.name, patch, options);
        return;
      } catch (err) {
        // The server forgets events after an hour: then it is a new one, with the count so far.
        if (!isKubeError(err, 'NotFound')) throw err;
      }
    }
    await createEvent(api, this.#body(event, namespace), namespace, options);
  }

  #body({ object, type, reason, message, annotations, name, count, firstAt, lastAt }: CorrelatedEvent, namespace: string): KubeEvent {
    const { nodeName } = this.#deps;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace, ...(annotations === undefined ? {} : { annotations: { ...annotations } }) },
      involvedObject: {
        kind: object.kind,
        ...(object.namespace === '' ? {} : { namespace: object.namespace }),
        name: object.name,
        uid: object.uid,
        apiVersion: 'v1',
        ...(object.fieldPath ? { fieldPath: object.fieldPath } : {}),
      },
      reason,
      message,
      source: { component: 'kubelet', host: nodeName },
      firstTimestamp: timeFromMs(firstAt),
      lastTimestamp: timeFromMs(lastAt),
      count,
      type,
      eventTime: null,
      reportingComponent: 'kubelet',
      reportingInstance: nodeName,
    };
  }

  /** `{object}.{hexadecimal nanoseconds}`; our clock is coarser, so that equal times are counted on. */
  #eventName(object: string): string {
    const { clock, random } = this.#deps;
    const now = BigInt(Math.floor(clock.now())) * 1_000_000n;
    this.#lastName = now > this.#lastName ? now : this.#lastName + 1n;
    const suffix = `.${this.#lastName.toString(16)}`;
    return (object.length + suffix.length > 253 ? random.hex(16) : object) + suffix;
  }
}
