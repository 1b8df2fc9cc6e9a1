import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, sleepWith } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { ContainerGcService } from './container-gc-service.ts';

test('a round a minute; a failed one is an event of the node and the next one comes all the same', async () => {
  const waits: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after: (ms, fn) => {
      assert.equal(ms, 60_000);
      waits.push(fn);
      return { cancel: () => {} };
    },
    sleep: (ms, signal) => sleepWith(clock, ms, signal),
  };
  let rounds = 0;
  const seen: string[] = [];
  const roundDone: (() => void)[] = [];
  const service = new ContainerGcService({
    collector: {
      collect: async () => {
        rounds += 1;
        if (rounds === 1) throw new Error('no runtime');
        roundDone.shift()?.();
      },
    },
    clock,
    events: {
      event: (object, type, reason, message) => {
        seen.push(`${object.kind} ${type} ${reason} ${message}`);
        roundDone.shift()?.();
      },
    },
    node: { kind: 'Node', namespace: '', name: 'n', uid: '' },
    log: silentLogger,
  });
  const abort = new AbortController();
  const round = async () => {
    const done = new Promise<void>((resolve) => roundDone.push(resolve));
    waits.shift()?.();
    await done;
    await new Promise((resolve) => setImmediate(resolve));
  };
  service.start(abort.signal);
  await service.ready();
  await round();
  await round();
  abort.abort();
  await service.stop();
  assert.deepEqual([rounds, seen], [2, ['Node Warning ContainerGCFailed no runtime']]);
  assert.deepEqual(service.health(), { ok: true });
});
