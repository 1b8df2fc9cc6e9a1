import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Pod } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { Dispatcher } from './dispatcher.ts';
import { PodKiller } from './kill-pod.ts';

const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [], terminationGracePeriodSeconds: 40 } };
const status = { phase: 'Failed' as const, reason: 'Evicted', message: 'm' };

function rig(stopsAfterMs: number) {
  const clock = new SimClock();
  const events: string[] = [];
  const graces: (number | undefined)[] = [];
  const dispatcher = new Dispatcher({
    clock,
    log: silentLogger,
    step: async (state, signal) => {
      if (state.phase === 'sync') return { kind: 'stay', retryAfterMs: undefined };
      if (state.phase === 'terminating') {
        graces.push(state.graceSeconds);
        await clock.sleep(stopsAfterMs, signal);
      }
      return { kind: 'advance' };
    },
  });
  const killer = new PodKiller({ clock, events: { event: (_o, _t, reason) => void events.push(reason) }, lanes: dispatcher });
  return { clock, dispatcher, killer, events, graces };
}

test('a kill is over when the pod has stopped', async () => {
  const r = rig(3_000);
  r.dispatcher.submit('u' as never, { pod });
  let over: number | undefined;
  void r.killer.kill(pod, { graceSeconds: 5, status }).then(() => {
    over = r.clock.monotonic();
  });
  assert.equal(await r.clock.runUntil(() => over !== undefined, 60_000), true);
  assert.ok((over ?? 0) >= 3_000 && (over ?? 0) < 3_300, `${over}`);
  assert.deepEqual([r.graces, r.events], [[5], []]);
});

test('a pod that does not stop in its grace and half of it is an error, and an event', async () => {
  const r = rig(3_600_000);
  r.dispatcher.submit('u' as never, { pod });
  let failed: string | undefined;
  r.killer.kill(pod, { status }).catch((err: Error) => {
    failed = err.message;
  });
  assert.equal(await r.clock.runUntil(() => failed !== undefined, 120_000), true);
  assert.equal(failed, 'timeout waiting to kill pod');
  assert.ok(r.clock.monotonic() >= 60_000, `${r.clock.monotonic()}`);
  assert.deepEqual(r.events, ['ExceededGracePeriod']);
});

test('a pod that nobody has is gone already', async () => {
  const r = rig(1);
  await r.killer.kill(pod, { status });
  assert.deepEqual(r.events, []);
});
