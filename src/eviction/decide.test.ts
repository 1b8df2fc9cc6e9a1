import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Quantity } from '../api/quantity.ts';
import { type Decision, decide, type EvictionState, initialState } from './decide.ts';
import type { Observations } from './observations.ts';
import type { Signal, Threshold } from './thresholds.ts';

const hard = (signal: Signal, quantity: string, more: Partial<Threshold> = {}): Threshold => ({
  signal,
  operator: 'LessThan',
  value: { quantity: Quantity.parse(quantity) },
  gracePeriod: 0n,
  ...more,
});
const soft = (signal: Signal, quantity: string, seconds: number) =>
  hard(signal, quantity, { gracePeriod: BigInt(seconds) * 1_000_000_000n });
const left = (values: Partial<Record<Signal, number>>, atMs: number): Observations =>
  new Map(
    Object.entries(values).map(([signal, value]) => [
      signal as Signal,
      { available: Quantity.of(value), capacity: Quantity.of(1000), atMs },
    ]),
  );
const Minute = 60_000;

/** Looks one after another, `[now, what is left of memory]`; gives what each said. */
function looks(thresholds: readonly Threshold[], steps: readonly (readonly [number, number])[], transitionMs = 5 * Minute): Decision[] {
  let state: EvictionState = initialState;
  return steps.map(([now, available]) => {
    const decision = decide(state, thresholds, left({ 'memory.available': available }, now), now, transitionMs);
    state = decision.state;
    return decision;
  });
}
const acts = (decisions: readonly Decision[]) => decisions.map(({ act }) => act.length);

describe('decide', () => {
  it('acts on a hard threshold at once, below it and not at it', () => {
    const memory = hard('memory.available', '100');
    assert.deepEqual(
      acts(
        looks(
          [memory],
          [
            [0, 100],
            [1, 99],
          ],
        ),
      ),
      [0, 1],
    );
  });

  it('shows the pressure from the moment a threshold is met, also a soft one in its grace, and for the transition period', () => {
    const found = looks(
      [soft('memory.available', '100', 90)],
      [
        [0, 50],
        [Minute, 50],
        [90_000, 50],
        [100_000, 200],
        [6 * Minute, 200],
        [6 * Minute + 30_000, 200],
      ],
    );
    assert.deepEqual(acts(found), [0, 0, 1, 0, 0, 0]);
    assert.deepEqual(
      found.map(({ pressures }) => pressures.has('MemoryPressure')),
      [true, true, true, true, true, false],
    );
  });

  it('a soft threshold that was not met in between begins its grace anew', () => {
    const found = looks(
      [soft('memory.available', '100', 60)],
      [
        [0, 50],
        [50_000, 500],
        [70_000, 50],
        [120_000, 50],
        [130_000, 50],
      ],
    );
    assert.deepEqual(acts(found), [0, 0, 0, 0, 1]);
  });

  it('once acted on, it counts as met until the minimum reclaim is won, and not before it was acted on', () => {
    const memory = hard('memory.available', '100', { minReclaim: { quantity: Quantity.parse('50') } });
    assert.deepEqual(
      acts(
        looks(
          [memory],
          [
            [0, 120],
            [1, 90],
            [2, 120],
            [3, 149],
            [4, 150],
            [5, 120],
          ],
        ),
      ),
      [0, 1, 1, 1, 0, 0],
    );
  });

  it('does not act twice on one figure', () => {
    const memory = hard('memory.available', '100');
    const stale = left({ 'memory.available': 50 }, 7);
    const first = decide(initialState, [memory], stale, 10, 0);
    const second = decide(first.state, [memory], stale, 20, 0);
    assert.deepEqual([first.act.length, second.act.length, second.pressures.has('MemoryPressure')], [1, 0, true]);
  });

  it('deals with memory first', () => {
    const order = [hard('nodefs.available', '100'), hard('pid.available', '100'), hard('allocatableMemory.available', '100')];
    const seen = left({ 'nodefs.available': 1, 'pid.available': 1, 'allocatableMemory.available': 1 }, 0);
    const { act, pressures } = decide(initialState, order, seen, 0, 0);
    assert.deepEqual(
      act.map(({ signal }) => signal),
      ['allocatableMemory.available', 'nodefs.available', 'pid.available'],
    );
    assert.deepEqual([...pressures].sort(), ['DiskPressure', 'MemoryPressure', 'PIDPressure']);
  });

  it('a signal that is not measured is not short', () => {
    assert.deepEqual(decide(initialState, [hard('pid.available', '100')], new Map(), 0, 0).act, []);
  });

  it('whatever is seen: no action without pressure, none above threshold and reclaim, pressure ends with the transition', () => {
    const memory = hard('memory.available', '100', { minReclaim: { quantity: Quantity.parse('20') } });
    const step = fc.tuple(fc.integer({ min: 1, max: 4 * Minute }), fc.integer({ min: 0, max: 200 }));
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (list) => {
        let now = 0;
        let lastMet = Number.NEGATIVE_INFINITY;
        const steps = list.map(([wait, available]) => {
          now += wait;
          return [now, available] as const;
        });
        for (const [i, { act, pressures, state }] of looks([memory], steps).entries()) {
          const [at, available] = steps[i] ?? assert.fail();
          assert.equal(act.length > 0, available < 100 || (available < 120 && state.met.length > 0));
          if (act.length > 0) lastMet = at;
          assert.equal(pressures.has('MemoryPressure'), at - lastMet < 5 * Minute);
        }
      }),
    );
  });
});
