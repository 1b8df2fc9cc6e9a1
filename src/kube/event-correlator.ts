import type { EventAnnotations, EventObject } from '../observe/events.ts';

/** client-go's figures. */
const SimilarBeforeAggregation = 10;
const AggregationMs = 600_000;
const SpamBurst = 25;
const SpamRefillMs = 300_000;
const CacheSize = 4096;
const AggregatedPrefix = '(combined from similar events): ';

/** An event as it happened. `at` is wall-clock, `monotonic` monotonic milliseconds. */
export interface RawEvent {
  object: EventObject;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  annotations?: EventAnnotations | undefined;
  at: number;
  monotonic: number;
  /** The name under which it is written if it is new. */
  name: string;
}

/** What to write of an event: a new object, or a count on one that was written before. */
export interface CorrelatedEvent {
  /** For `written`. */
  key: string;
  object: EventObject;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  annotations?: EventAnnotations | undefined;
  name: string;
  count: number;
  firstAt: number;
  lastAt: number;
  /** The event of this name exists already, as far as we know: patch its count. */
  exists: boolean;
}

interface Aggregate {
  messages: Set<string>;
  lastAt: number;
}

interface Logged {
  name: string;
  count: number;
  firstAt: number;
}

interface Spam {
  tokens: number;
  at: number;
}

/**
 * Decides what becomes of an event, by client-go's rules: the 10th message of the same kind within 10 minutes and
 * those after it are combined; the same event again counts one up; of one object only 25 events and then one in 5 minutes
 * are written. All three memories hold the last 4096 entries. No effects: the sender tells by `written` what the server took.
 */
export class EventCorrelator {
  readonly #aggregates = new Recent<Aggregate>(CacheSize);
  readonly #logged = new Recent<Logged>(CacheSize);
  readonly #spam = new Recent<Spam>(CacheSize);

  /** Undefined: the object has had too many events. */
  correlate(event: RawEvent): CorrelatedEvent | undefined {
    const { message, key } = this.#aggregate(event);
    const known = this.#logged.get(key);
    const result: CorrelatedEvent = {
      key,
      object: event.object,
      type: event.type,
      reason: event.reason,
      message,
      annotations: event.annotations,
      name: known?.name ?? event.name,
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? event.at,
      lastAt: event.at,
      exists: known !== undefined,
    };
    // Counted even if it is not written: the next one that is written tells the whole number.
    this.#logged.set(key, { name: result.name, count: result.count, firstAt: result.firstAt });
    return this.#isSpam(event) ? undefined : result;
  }

  /** The server holds the event under this name with this count. */
  written(key: string, name: string, count: number, firstAt: number): void {
    this.#logged.set(key, { name, count, firstAt });
  }

  #aggregate(event: RawEvent): { message: string; key: string } {
    const group = groupKey(event);
    const found = this.#aggregates.get(group);
    const fresh = found === undefined || event.monotonic - found.lastAt > AggregationMs;
    const aggregate = fresh ? { messages: new Set<string>(), lastAt: event.monotonic } : found;
    aggregate.messages.add(event.message);
    aggregate.lastAt = event.monotonic;
    this.#aggregates.set(group, aggregate);
    const fieldPath = event.object.fieldPath ?? '';
    if (aggregate.messages.size < SimilarBeforeAggregation) return { message: event.message, key: join(group, fieldPath, event.message) };
    // One is dropped, so that the set does not grow.
    for (const one of aggregate.messages) {
      aggregate.messages.delete(one);
      break;
    }
    return { message: AggregatedPrefix + event.message, key: group };
  }

  #isSpam({ object, monotonic: at }: RawEvent): boolean {
    const key = objectKey(object);
    const found = this.#spam.get(key) ?? { tokens: SpamBurst, at };
    const tokens = Math.min(SpamBurst, found.tokens + Math.max(0, at - found.at) / SpamRefillMs);
    const isSpam = tokens < 1;
    this.#spam.set(key, { tokens: isSpam ? tokens : tokens - 1, at });
    return isSpam;
  }
}

function objectKey({ kind, namespace, name, uid }: EventObject): string {
  return join(kind, namespace, name, uid);
}

function groupKey({ object, type, reason }: RawEvent): string {
  return join(objectKey(object), type, reason);
}

function join(...parts: string[]): string {
  return parts.join('\u0000');
}

/** The entries used last; an older one is forgotten for a new one. */
class Recent<V> {
  readonly #size: number;
  readonly #entries = new Map<string, V>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#size) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
