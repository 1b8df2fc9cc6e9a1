import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { CriError } from '../cri/errors.ts';
import type { RuntimeStatus } from '../cri/types.ts';
import { silentLogger } from '../observe/log.ts';
import { RuntimeState } from './runtime-state.ts';

const status = (runtime: boolean, network: boolean): RuntimeStatus => ({
  conditions: [
    { type: 'RuntimeReady', status: runtime, reason: 'R', message: 'm' },
    { type: 'NetworkReady', status: network, reason: 'N', message: 'n' },
  ],
  runtimeHandlers: [],
});

class World {
  readonly clock = new SimClock();
  answer: RuntimeStatus | undefined;
  asked = 0;
  recovered = 0;
  readonly #stop = new AbortController();
  readonly state = new RuntimeState({
    runtime: {
      status: async () => {
        this.asked++;
        if (this.answer === undefined) throw new CriError('Unavailable', 'Status', 'away');
        return this.answer;
      },
    },
    clock: this.clock,
    log: silentLogger,
    recovered: () => void this.recovered++,
  });

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.clock.settle();
    await this.state.stop();
  }

  async start(answer: RuntimeStatus | undefined): Promise<void> {
    this.answer = answer;
    this.state.start(this.#stop.signal);
    await this.clock.settle();
  }
}

test('before the first answer nothing is known', async () => {
  await using world = new World();
  assert.deepEqual(world.state.faults(), {
    answers: ['container runtime status check may not have completed yet'],
    runtime: [],
    network: ['network state unknown'],
  });
  await world.start(undefined);
  await world.clock.advance(100_000);
  assert.deepEqual(world.state.faults().answers, ['container runtime status check may not have completed yet']);
});

test('conditions that are false or missing are told as the runtime tells them', async () => {
  await using world = new World();
  await world.start(status(false, false));
  assert.deepEqual(world.state.faults().runtime, ['container runtime not ready: RuntimeReady=false reason:R message:m']);
  assert.deepEqual(world.state.faults().network, ['container runtime network not ready: NetworkReady=false reason:N message:n']);
  world.answer = { conditions: [], runtimeHandlers: [] };
  await world.clock.advance(200);
  assert.deepEqual(world.state.faults().runtime, ['container runtime not ready: <nil>']);
  assert.deepEqual(world.state.faults().network, ['container runtime network not ready: <nil>']);
});

test('a runtime that answers but is not ready is down after 30 s as well', async () => {
  await using world = new World();
  await world.start(status(true, true));
  assert.deepEqual(world.state.faults(), { answers: [], runtime: [], network: [] });
  world.answer = status(false, true);
  await world.clock.advance(24_000);
  assert.deepEqual(world.state.faults().answers, []);
  await world.clock.advance(11_000);
  assert.deepEqual(world.state.faults().answers, ['container runtime is down']);
  world.answer = status(true, true);
  await world.clock.advance(5_000);
  assert.deepEqual(world.state.faults().answers, []);
});

test('a runtime is asked often until it is ready, for two minutes, and every five seconds then', async () => {
  await using world = new World();
  await world.start(status(true, false));
  await world.clock.advance(1_000);
  assert.ok(world.asked >= 10 && world.asked <= 12, `${world.asked} times in the first second`);
  world.answer = status(true, true);
  await world.clock.advance(200);
  assert.equal(world.recovered, 1);
  const before = world.asked;
  await world.clock.advance(60_000);
  assert.ok(world.asked - before <= 13, `${world.asked - before} times in a minute`);
});

test('a runtime that never gets ready is asked every five seconds after two minutes', async () => {
  await using world = new World();
  await world.start(status(true, false));
  await world.clock.advance(121_000);
  const before = world.asked;
  await world.clock.advance(60_000);
  assert.ok(world.asked - before <= 13, `${world.asked - before} times in a minute`);
});
