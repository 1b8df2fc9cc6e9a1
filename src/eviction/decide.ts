import type { Observations, Pressure } from './observations.ts';
import { isMemorySignal, pressureOf, thresholdsMet } from './observations.ts';
import type { Threshold } from './thresholds.ts';

/** What one look passes to the next. Thresholds are known by identity. Times are monotonic milliseconds. */
export interface EvictionState {
  /** Met with their grace over: met still until the minimum reclaim is won. */
  met: readonly Threshold[];
  /** Since when a threshold has been met without a break. */
  since: ReadonlyMap<Threshold, number>;
  /** When a pressure was seen last. */
  pressedAt: ReadonlyMap<Pressure, number>;
  observations: Observations;
}

export const initialState: EvictionState = { met: [], since: new Map(), pressedAt: new Map(), observations: new Map() };

export interface Decision {
  state: EvictionState;
  /** The node's pressures: from the moment a threshold is met until the transition period after the last time. */
  pressures: ReadonlySet<Pressure>;
  /** The thresholds to do something about now, memory first; measured anew since the last look. */
  act: readonly Threshold[];
}

/**
 * What a look at the node means: which pressures it has and what must be reclaimed now. Pure: the same state,
 * observations and time give the same answer. Source: contract node.md §3.
 */
export function decide(
  before: EvictionState,
  thresholds: readonly Threshold[],
  observations: Observations,
  nowMs: number,
  transitionMs: number,
): Decision {
  const unresolved = thresholdsMet(before.met, observations, true);
  const found = [...new Set([...thresholdsMet(thresholds, observations, false), ...unresolved])];
  const since = new Map(found.map((threshold) => [threshold, before.since.get(threshold) ?? nowMs]));
  const pressedAt = new Map(before.pressedAt);
  for (const { signal } of found) pressedAt.set(pressureOf(signal), nowMs);
  const pressures = new Set(
    [...pressedAt].filter(([, atMs]) => nowMs - atMs < transitionMs || atMs === nowMs).map(([pressure]) => pressure),
  );
  const met = found.filter((threshold) => BigInt(Math.trunc((nowMs - (since.get(threshold) ?? nowMs)) * 1e6)) >= threshold.gracePeriod);
  const act = met.filter(({ signal }) => isFresh(signal, observations, before.observations));
  return {
    state: { met, since, pressedAt, observations },
    pressures,
    act: [...act.filter(isMemory), ...act.filter((threshold) => !isMemory(threshold))],
  };
}

const isMemory = ({ signal }: Threshold) => isMemorySignal(signal);

/** A figure that was acted on before must not be acted on again. */
function isFresh(signal: Threshold['signal'], now: Observations, before: Observations): boolean {
  const seen = now.get(signal);
  const last = before.get(signal);
  return seen !== undefined && (last === undefined || seen.atMs > last.atMs);
}
