import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultRule } from './apiserver.ts';
import { ReflectorWorld } from './reflector-world.ts';

interface Scenario {
  name: string;
  /** Called once the reflector has synced; returns when the fault is over. */
  inject(world: ReflectorWorld): Promise<void>;
  /** Milliseconds that the worst gap may be at most, the time of the fault itself included. */
  maxGapMs: number;
  /** Requests from the first fault until 5 minutes after it at most. */
  maxRequests: number;
}

const everyWatch = (world: ReflectorWorld, act: (w: ReturnType<ReflectorWorld['server']['watches']>[number]) => void) => {
  for (const watch of world.server.watches()) act(watch);
};

/** `rule` for so long. */
async function during(world: ReflectorWorld, ms: number, rule: FaultRule): Promise<void> {
  world.server.faults.push(rule);
  await world.clock.advance(ms);
  world.server.faults.splice(world.server.faults.indexOf(rule), 1);
}

const scenarios: Scenario[] = [
  {
    name: 'nothing, with the watch ending after its time',
    inject: (w) => w.clock.advance(1_200_000),
    maxGapMs: 20,
    maxRequests: 8,
  },
  {
    name: 'the connection cut 20 times, every 5 s',
    inject: async (w) => {
      for (let i = 0; i < 20; i++) {
        everyWatch(w, (watch) => watch.cut());
        await w.clock.advance(5_000);
      }
    },
    maxGapMs: 50,
    maxRequests: 22,
  },
  {
    name: 'every watch cut at once after it began, for 2 min',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.cut());
      for (let i = 0; i < 1200; i++) {
        await w.clock.advance(100);
        everyWatch(w, (watch) => watch.cut());
      }
    },
    maxGapMs: 32_000,
    maxRequests: 20,
  },
  {
    name: 'silence on the open connection',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.silence());
      await w.clock.advance(160_000);
    },
    // Then a list, as the watch cache has gone on.
    maxGapMs: 150_000 + 1_700,
    maxRequests: 4,
  },
  {
    name: 'a line cut in its middle, 10 times',
    inject: async (w) => {
      for (let i = 0; i < 10; i++) {
        everyWatch(w, (watch) => watch.truncateNext());
        await w.clock.advance(8_000);
      }
    },
    maxGapMs: 3_000,
    maxRequests: 12,
  },
  {
    name: 'lines in chunks of 7 bytes, across characters',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.split(7));
      await w.clock.advance(60_000);
    },
    maxGapMs: 20,
    maxRequests: 4,
  },
  {
    name: 'a line that is no JSON, 5 times',
    inject: async (w) => {
      for (let i = 0; i < 5; i++) {
        everyWatch(w, (watch) => watch.garbage());
        await w.clock.advance(10_000);
      }
    },
    maxGapMs: 30_000,
    maxRequests: 20,
  },
  {
    name: '410 within the watch',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.error(410, 'Expired', 'too old resource version'));
      await w.clock.advance(10_000);
    },
    maxGapMs: 1_700,
    maxRequests: 5,
  },
  {
    name: 'cut, then HTTP 410 for the next watch',
    inject: async (w) => {
      let left = 1;
      w.server.faults.push((r) =>
        r.query.get('resourceVersion') && r.query.get('watch') && left-- > 0 ? { status: 410, reason: 'Expired' } : undefined,
      );
      everyWatch(w, (watch) => watch.cut());
      await w.clock.advance(10_000);
    },
    maxGapMs: 1_700,
    maxRequests: 6,
  },
  {
    name: 'the server away for 90 s, back with an empty watch cache',
    inject: async (w) => {
      w.server.stop();
      await w.clock.advance(90_000);
      w.server.start({ loseCache: true });
      await w.clock.advance(60_000);
    },
    // The fault, and the longest wait between two attempts.
    maxGapMs: 90_000 + 30_000 + 2_000,
    maxRequests: 8,
  },
  {
    name: 'the server away for 10 min',
    inject: async (w) => {
      w.server.stop();
      await w.clock.advance(600_000);
      w.server.start();
      await w.clock.advance(60_000);
    },
    maxGapMs: 600_000 + 30_000 + 2_000,
    maxRequests: 8,
  },
  {
    name: 'a server that takes 20 s for each answer, for 3 min, with cuts',
    inject: async (w) => {
      const slow = during(w, 180_000, () => ({ delayMs: 20_000 }));
      everyWatch(w, (watch) => watch.cut());
      await slow;
      everyWatch(w, (watch) => watch.cut());
    },
    maxGapMs: 20_100,
    maxRequests: 6,
  },
  {
    name: '429 with Retry-After of 7 s, for 1 min',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.cut());
      await during(w, 60_000, () => ({ status: 429, reason: 'TooManyRequests', retryAfterSeconds: 7 }));
      await w.clock.advance(30_000);
    },
    maxGapMs: 60_000 + 30_000 + 1_700,
    maxRequests: 10,
  },
  {
    name: '500 for 1 min',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.cut());
      await during(w, 60_000, () => ({ status: 500, reason: 'InternalError' }));
      await w.clock.advance(30_000);
    },
    maxGapMs: 60_000 + 30_000 + 1_700,
    maxRequests: 10,
  },
  {
    name: 'no answer to any request for 3 min',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.cut());
      await during(w, 180_000, () => ({ hang: true }));
      await w.clock.advance(90_000);
    },
    maxGapMs: 180_000 + 60_000 + 30_000,
    maxRequests: 8,
  },
  {
    name: 'answers cut after 100 bytes for 1 min, with 410 before',
    inject: async (w) => {
      everyWatch(w, (watch) => watch.error(410, 'Expired', 'too old'));
      await during(w, 60_000, () => ({ cutBodyAt: 100 }));
      await w.clock.advance(30_000);
    },
    maxGapMs: 60_000 + 30_000,
    maxRequests: 14,
  },
  {
    name: 'the wall clock steps a day forward, then two back',
    inject: async (w) => {
      w.clock.jump(86_400_000);
      await w.clock.advance(200_000);
      w.clock.jump(-2 * 86_400_000);
      await w.clock.advance(200_000);
    },
    maxGapMs: 20,
    maxRequests: 5,
  },
  {
    name: 'more writes during a cut than the watch cache holds',
    inject: async (w) => {
      w.server.stop();
      for (let i = 0; i < 300; i++) w.write();
      await w.clock.advance(5_000);
      w.server.start();
      await w.clock.advance(30_000);
    },
    maxGapMs: 30_000,
    maxRequests: 8,
  },
];

for (const streamingList of [true, false]) {
  for (const scenario of scenarios) {
    test(`reflector (${streamingList ? 'streaming list' : 'list in pages'}): ${scenario.name}`, async (t) => {
      const world = new ReflectorWorld(7, { streamingList, pageSize: 4 });
      await world.start();
      await world.clock.advance(30_000);
      world.worstGap = 0;
      const before = world.server.requests.length;
      const waited = world.reflector.counts.waits;
      await scenario.inject(world);
      await world.clock.advance(300_000);
      const requests = world.requestsSince(before);
      await world.finish();
      const { waits } = world.reflector.counts;
      t.diagnostic(
        `injected: ${scenario.name}; worst gap ${(world.worstGap / 1000).toFixed(2)} s, ${requests} requests, ${waits - waited} waits, ${world.told} changes told`,
      );
      assert.ok(world.worstGap <= scenario.maxGapMs, `worst gap ${world.worstGap} ms, at most ${scenario.maxGapMs}`);
      // Pages of 4 make several requests of one list.
      const allowed = scenario.maxRequests + (streamingList ? 0 : 6);
      assert.ok(requests <= allowed, `${requests} requests, at most ${allowed}`);
    });
  }
}

test('a server that refuses streaming lists is asked once, then listed in pages', async (t) => {
  const world = new ReflectorWorld(3, { streamingList: false, askStreaming: true, pageSize: 3 });
  await world.start();
  const { requests } = world.server;
  assert.equal(requests.filter((r) => r.query.has('sendInitialEvents')).length, 1);
  assert.equal(requests[0]?.status, 422);
  assert.equal(requests[1]?.query.get('limit'), '3');
  assert.equal(world.reflector.counts.waits, 0);
  await world.clock.advance(60_000);
  world.server.watches()[0]?.error(410, 'Expired', 'too old');
  await world.clock.advance(60_000);
  assert.equal(requests.filter((r) => r.query.has('sendInitialEvents')).length, 1);
  t.diagnostic(`injected: 422 for sendInitialEvents; worst gap ${world.worstGap.toFixed(0)} ms, ${requests.length} requests`);
  await world.finish();
});

test('a continue token that expires between two pages makes one list of everything', async (t) => {
  const world = new ReflectorWorld(4, { streamingList: false, pageSize: 3 });
  world.server.faults.push((r) => {
    if (r.query.has('continue')) world.server.expireContinues();
    return undefined;
  });
  await world.start();
  const lists = world.server.requests.filter((r) => !r.query.has('watch'));
  assert.deepEqual(
    lists.map((r) => [r.status, r.query.get('limit')]),
    [
      [200, '3'],
      [410, '3'],
      [200, null],
    ],
  );
  t.diagnostic(
    `injected: expired continue token; synced after ${world.clock.monotonic().toFixed(0)} ms, ${world.server.requests.length} requests`,
  );
  await world.finish();
});

for (const streamingList of [true, false]) {
  test(`a database restored from a backup (${streamingList ? 'streaming list' : 'list in pages'})`, async (t) => {
    const world = new ReflectorWorld(5, { streamingList });
    await world.start();
    await world.clock.advance(20_000);
    const backup = world.server.store.backup();
    await world.clock.advance(60_000);
    world.server.stop();
    world.server.store.restore(backup);
    world.forgetWrites();
    const before = world.server.requests.length;
    world.server.start();
    const restoredAt = world.clock.monotonic();
    assert.ok(await world.clock.runUntil(() => Number(world.reflector.resourceVersion) < backup.version + 20, 60_000));
    t.diagnostic(
      `injected: resource versions go back; caught up after ${(world.clock.monotonic() - restoredAt).toFixed(0)} ms, ${world.requestsSince(before)} requests`,
    );
    assert.ok(world.requestsSince(before) <= 6);
    await world.clock.advance(60_000);
    await world.finish();
  });
}

test('first boot without a server: synced within one wait of its coming, few attempts', async (t) => {
  const world = new ReflectorWorld(6);
  world.server.stop();
  world.begin();
  await world.clock.advance(600_000);
  assert.equal(world.reflector.synced, false);
  assert.equal(world.reflector.health().ok, false);
  const { waits } = world.reflector.counts;
  assert.ok(waits >= 20 && waits <= 45, `${waits} attempts in 10 min`);
  world.server.start();
  const back = world.clock.monotonic();
  assert.ok(await world.clock.runUntil(() => world.reflector.synced, 31_000));
  assert.deepEqual(world.reflector.health(), { ok: true });
  t.diagnostic(
    `injected: no server for 10 min; ${waits} attempts, synced ${((world.clock.monotonic() - back) / 1000).toFixed(1)} s after it came`,
  );
  await world.stop();
});

test('deletions missed during a gap are told with the last known form', async () => {
  const world = new ReflectorWorld(8);
  world.server.store.put('/api/v1/pods', 'ns/gone', {
    metadata: { name: 'gone', namespace: 'ns', uid: 'u1', annotations: { a: 'b' } },
    spec: { nodeName: 'me' },
  });
  world.begin();
  await world.clock.runUntil(() => world.reflector.synced, 10_000);
  assert.equal(world.reflector.objects.get('ns/gone')?.metadata.annotations?.['a'], 'b');
  world.server.stop();
  world.server.store.remove('/api/v1/pods', 'ns/gone');
  world.server.start({ loseCache: true });
  await world.clock.advance(60_000);
  assert.equal(world.reflector.objects.size, 0);
  assert.equal(world.told, 2);
  await world.stop();
});

test('50 runs with faults at random: nothing lost, nothing doubled', async (t) => {
  let worst = 0;
  let most = 0;
  for (let seed = 100; seed < 150; seed++) {
    const world = new ReflectorWorld(seed, { streamingList: seed % 2 === 0, pageSize: 5, window: 30 });
    await world.start();
    const dice = world.random.fork('faults');
    const before = world.server.requests.length;
    for (let i = 0; i < 12; i++) {
      const watch = world.server.watches()[0];
      await dice.pick([
        () => watch?.cut(),
        () => watch?.end(),
        () => watch?.truncateNext(),
        () => watch?.garbage(),
        () => watch?.split(dice.int(1, 40)),
        () => watch?.error(410, 'Expired', 'too old'),
        () => watch?.error(500, 'InternalError', 'etcd lost'),
        () => watch?.silence(),
        async () => {
          world.server.stop();
          await world.clock.advance(dice.int(100, 20_000));
          world.server.start({ loseCache: dice.chance(0.5) });
        },
        () => during(world, dice.int(1000, 10_000), () => (dice.chance(0.5) ? { cutBodyAt: dice.int(0, 500) } : undefined)),
        () =>
          during(world, dice.int(1000, 10_000), () => (dice.chance(0.5) ? { status: dice.pick([429, 500, 503, 504]) } : { delayMs: 3000 })),
      ])();
      await world.clock.advance(dice.int(10, 40_000));
    }
    const minutes = world.clock.monotonic() / 60_000;
    most = Math.max(most, world.requestsSince(before) / minutes);
    await world.finish(400_000);
    worst = Math.max(worst, world.worstGap);
  }
  t.diagnostic(`injected: 600 faults of 11 kinds; worst gap ${(worst / 1000).toFixed(1)} s, at most ${most.toFixed(1)} requests a minute`);
  // The longest: silence, a list that fails twice, the wait after it.
  assert.ok(worst <= 240_000, `worst gap ${worst} ms`);
  assert.ok(most <= 20, `${most} requests a minute`);
});
