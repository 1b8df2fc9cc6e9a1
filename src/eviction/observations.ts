import type { Quantity } from '../api/quantity.ts';
import { isHard, type Signal, type Threshold, thresholdQuantity } from './thresholds.ts';

/** What was measured for a signal. Bytes, inodes or processes. */
export interface Observation {
  available: Quantity;
  capacity: Quantity;
  /** When it was measured, wall-clock milliseconds. */
  atMs: number;
}

/** A signal that could not be measured is not in it, and meets no threshold. */
export type Observations = ReadonlyMap<Signal, Observation>;

export type Pressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** What a signal is about, in the words of events and messages (contract: events.md §7). */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export function starvedResource(signal: Signal): StarvedResource {
  if (isMemorySignal(signal)) return 'memory';
  if (signal === 'pid.available') return 'pids';
  return signal.endsWith('.inodesFree') ? 'inodes' : 'ephemeral-storage';
}

export function pressureOf(signal: Signal): Pressure {
  if (isMemorySignal(signal)) return 'MemoryPressure';
  return signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure';
}

export function isMemorySignal(signal: Signal): boolean {
  return signal === 'memory.available' || signal === 'allocatableMemory.available';
}

/**
 * The thresholds that what is left has fallen below, in their order. With `withReclaim` one counts as long as less than
 * its minimum reclaim was won beyond it.
 */
export function thresholdsMet(thresholds: readonly Threshold[], observations: Observations, withReclaim: boolean): Threshold[] {
  return thresholds.filter((threshold) => {
    const seen = observations.get(threshold.signal);
    if (seen === undefined || threshold.operator === '') return false;
    const bound = thresholdQuantity(threshold.value, seen.capacity);
    const reclaim = withReclaim && threshold.minReclaim !== undefined ? thresholdQuantity(threshold.minReclaim, seen.capacity) : undefined;
    return (reclaim === undefined ? bound : bound.add(reclaim)).cmp(seen.available) > 0;
  });
}

/** `memory.available: 90Mi left of 1Gi, threshold 100Mi (hard)`, for the log. */
export function describeThreshold(threshold: Threshold, observations: Observations): string {
  const seen = observations.get(threshold.signal);
  const kind = isHard(threshold) ? 'hard' : 'soft';
  if (seen === undefined) return `${threshold.signal} (${kind})`;
  return `${threshold.signal}: ${seen.available} left of ${seen.capacity}, threshold ${thresholdQuantity(threshold.value, seen.capacity)} (${kind})`;
}
