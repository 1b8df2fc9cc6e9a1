import { formatDuration, parseDuration } from '../api/duration.ts';
import { Quantity } from '../api/quantity.ts';

/** What eviction watches (contract node.md §3). */
export const Signals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;
export type Signal = (typeof Signals)[number];

/** An amount, or a part of the capacity as a fraction in single precision. */
export type ThresholdValue = { quantity: Quantity } | { percentage: number };

export interface Threshold {
  signal: Signal;
  /** Empty: derived from a threshold that is not set, never met. */
  operator: 'LessThan' | '';
  value: ThresholdValue;
  /** Nanoseconds; 0 is a hard threshold. */
  gracePeriod: bigint;
  minReclaim?: ThresholdValue;
}

export interface ThresholdConfig {
  /** enforceNodeAllocatable. */
  allocatable: readonly string[];
  hard: Readonly<Record<string, string>>;
  soft: Readonly<Record<string, string>>;
  softGrace: Readonly<Record<string, string>>;
  minReclaim: Readonly<Record<string, string>>;
}

/** A threshold that cannot be read. `field` is the configuration field with its key, e.g. `evictionHard[memory.available]`. */
export class ThresholdError extends Error {
  readonly code = 'invalid-threshold';
  readonly field: string;
  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
    this.name = 'ThresholdError';
    this.field = field;
  }
}

/**
 * The thresholds of a configuration: hard ones, then soft ones, then a copy of a hard memory threshold for the pods'
 * own limit where that is enforced. Throws ThresholdError. Source: vectors eviction-thresholds.
 */
export function parseThresholds(config: ThresholdConfig): Threshold[] {
  const hard = statements('evictionHard', config.hard);
  const soft = statements('evictionSoft', config.soft);
  const grace = read('evictionSoftGracePeriod', config.softGrace, gracePeriod);
  const reclaim = read('evictionMinimumReclaim', config.minReclaim, minimumReclaim);
  const withReclaim = (threshold: Threshold): Threshold => {
    const minReclaim = reclaim.get(threshold.signal);
    return minReclaim === undefined ? threshold : { ...threshold, minReclaim };
  };
  const softWithGrace = soft.map((threshold) => {
    const period = grace.get(threshold.signal);
    if (period === undefined) throw new ThresholdError(`evictionSoft[${threshold.signal}]`, 'it needs an entry in evictionSoftGracePeriod');
    return { ...threshold, gracePeriod: period };
  });
  const all = [...hard, ...softWithGrace].map(withReclaim);
  if (!config.allocatable.includes('pods')) return all;
  const memory = all.filter((threshold) => threshold.signal === 'memory.available' && isHard(threshold));
  return [...all, ...memory.map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' as const }))];
}

/** True for a threshold that is acted on at once. */
export function isHard({ gracePeriod }: Threshold): boolean {
  return gracePeriod === 0n;
}

/** The amount that a value stands for, given the capacity it is a part of. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  return Quantity.of(BigInt(Math.trunc(Number(capacity.value()) * value.percentage)), 'BinarySI');
}

/**
 * Thresholds for the containers' writable layers: those of the file system that holds them. `imageFs`: images have a
 * file system of their own; `separate`: only images have, writable layers stay on the node's. What was configured for
 * containerfs by hand is replaced and named in `ignored`.
 */
export function withContainerFs(
  thresholds: readonly Threshold[],
  { imageFs, separate }: { imageFs: boolean; separate: boolean },
): { thresholds: Threshold[]; ignored: Signal[] } {
  const result = [...thresholds];
  const ignored = thresholds.map((threshold) => threshold.signal).filter((signal) => signal.startsWith('containerfs.'));
  const source = imageFs === separate ? 'nodefs' : imageFs ? 'imagefs' : undefined;
  if (source === undefined) return { thresholds: result, ignored };
  for (const what of ['available', 'inodesFree'] as const) {
    for (const hard of [true, false]) {
      const find = (signal: Signal) => thresholds.findIndex((threshold) => threshold.signal === signal && isHard(threshold) === hard);
      const signal: Signal = `containerfs.${what}`;
      const derived: Threshold = { ...(thresholds[find(`${source}.${what}`)] ?? Unset), signal };
      const known = find(signal);
      if (known < 0) result.push(derived);
      else result[known] = derived;
    }
  }
  return { thresholds: result, ignored };
}

const Unset: Omit<Threshold, 'signal'> = { operator: '', value: { percentage: 0 }, gracePeriod: 0n };

/** Throws for a text that names no signal. */
export function parseSignal(text: string): Signal {
  const signal = Signals.find((known) => known === text);
  if (signal === undefined) throw new Error(`unsupported eviction signal ${JSON.stringify(text)}; supported: ${Signals.join(', ')}`);
  return signal;
}

function statements(field: string, texts: Readonly<Record<string, string>>): Threshold[] {
  const values = read(field, texts, thresholdValue);
  return [...values].flatMap(([signal, value]) =>
    value === undefined ? [] : [{ signal, operator: 'LessThan' as const, value, gracePeriod: 0n }],
  );
}

function read<T>(field: string, texts: Readonly<Record<string, string>>, parse: (text: string) => T): Map<Signal, T> {
  const found = new Map<Signal, T>();
  for (const [key, text] of Object.entries(texts)) {
    const where = `${field}[${key}]`;
    try {
      found.set(parseSignal(key), parse(text));
    } catch (err) {
      throw new ThresholdError(where, err instanceof Error ? err.message : String(err));
    }
  }
  return found;
}

/** Undefined for the two percentages that switch a threshold off. */
function thresholdValue(text: string): ThresholdValue | undefined {
  if (text === '0%' || text === '100%') return undefined;
  if (text.endsWith('%')) {
    const percentage = parsePercentage(text);
    if (percentage < 0 || percentage > 1) throw new Error(`${JSON.stringify(text)} is not between 0% and 100%`);
    return { percentage };
  }
  const quantity = Quantity.parse(text);
  if (quantity.sign() <= 0) throw new Error(`${quantity} is not positive`);
  return { quantity };
}

function minimumReclaim(text: string): ThresholdValue {
  if (text.endsWith('%')) {
    const percentage = parsePercentage(text);
    if (percentage <= 0) throw new Error(`${JSON.stringify(text)} is not positive`);
    return { percentage };
  }
  const quantity = Quantity.parse(text);
  if (quantity.sign() < 0) throw new Error(`${quantity} is negative`);
  return { quantity };
}

function gracePeriod(text: string): bigint {
  const period = parseDuration(text);
  if (period < 0n) throw new Error(`the grace period ${formatDuration(period)} is negative`);
  return period;
}

/** A fraction in single precision, as the real kubelet computes with. */
export function parsePercentage(text: string): number {
  const digits = text.replace(/%+$/, '');
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits)) throw new Error(`${JSON.stringify(text)} is not a percentage`);
  return Math.fround(Math.fround(Number(digits)) / 100);
}
