import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { podUid } from '../api/brands.ts';
import { silentLogger } from '../observe/log.ts';
import type { PodRecord } from '../pleg/record.ts';
import { Dispatcher } from './dispatcher.ts';
import { Housekeeping } from './housekeeping.ts';
import { PodStore } from './store.ts';

it('a pod that only the runtime knows is stopped once a list, however often its end asks for another round', async () => {
  const clock = new SimClock();
  const uid = podUid('u');
  const list = () =>
    new Map([[uid, { uid, name: 'p', namespace: 'n', sandboxes: new Map([['s', 'running']]), containers: new Map() } as PodRecord]]);
  let records = list();
  let steps = 0;
  const store = new PodStore(['file']);
  store.applySet('file', []);
  const dispatcher: Dispatcher = new Dispatcher({
    clock,
    log: silentLogger,
    step: async () => {
      steps += 1;
      return { kind: 'advance' };
    },
    moved: (state) => {
      if (state.phase === 'finished' && dispatcher.remove(state.uid)) housekeeping.poke();
    },
  });
  const housekeeping: Housekeeping = new Housekeeping({
    clock,
    log: silentLogger,
    store,
    dispatcher,
    records: () => records,
    hasListed: () => true,
    begin: () => undefined,
    forget: () => undefined,
    sweepDisk: async () => undefined,
    collect: () => undefined,
  });
  const stop = new AbortController();
  housekeeping.start(stop.signal);
  await clock.advance(10_000);
  assert.equal(steps, 2, 'terminating and terminated, of one lane');
  records = list();
  await clock.advance(10_000);
  assert.equal(steps, 4);
  stop.abort();
  await housekeeping.stop();
});
