import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Clock } from './clock.ts';
import { Rounds } from './rounds.ts';

class Counted extends Rounds {
  override readonly name = 'counted';
  readonly at: number[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock, firstMs?: number) {
    super(clock, firstMs);
    this.#clock = clock;
  }

  protected override async round(): Promise<number> {
    this.at.push(this.#clock.monotonic());
    return 1_000;
  }
}

test('rounds begin at once, follow each other after what each says, and end with the signal', async () => {
  const clock = new SimClock();
  const begun = clock.monotonic();
  const service = new Counted(clock);
  const stop = new AbortController();
  await service.stop();
  service.start(stop.signal);
  await service.ready();
  assert.deepEqual(service.health(), { ok: true });
  await clock.advance(2_500);
  service.poke();
  await clock.advance(100);
  assert.deepEqual(
    service.at.map((ms) => ms - begun),
    [0, 1_000, 2_000, 2_500],
  );
  stop.abort();
  await service.stop();
  await clock.advance(5_000);
  assert.equal(service.at.length, 4);
});

test('the first round may be later', async () => {
  const clock = new SimClock();
  const begun = clock.monotonic();
  const service = new Counted(clock, 300);
  const stop = new AbortController();
  service.start(stop.signal);
  await clock.advance(1_400);
  assert.deepEqual(
    service.at.map((ms) => ms - begun),
    [300, 1_300],
  );
  stop.abort();
  await service.stop();
});
