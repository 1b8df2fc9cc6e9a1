import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { CriError } from '../cri/errors.ts';
import type { ExecSyncResult } from '../cri/types.ts';
import { ExecProber } from './exec-probe.ts';
import { Schedule } from './schedule.ts';

const live = new AbortController().signal;
const target = { containerId: 'c1', type: 'liveness' };
const timedOut = { result: 'failure', output: 'command timed out: "sh -c x" timed out after 2s' };

describe('an exec probe that the runtime does not answer', () => {
  let clock: SimClock;
  let calls: PromiseWithResolvers<ExecSyncResult>[];
  let prober: ExecProber;
  const run = (over: object = {}) => prober.run({ ...target, ...over }, ['sh', '-c', 'x'], 2, live);
  const ended = { exitCode: 0, stdout: Buffer.from('ok'), stderr: Buffer.alloc(0) };

  beforeEach(() => {
    clock = new SimClock();
    calls = [];
    const execSync = () => {
      const call = Promise.withResolvers<ExecSyncResult>();
      calls.push(call);
      return call.promise;
    };
    prober = new ExecProber({ execSync }, new Schedule(clock));
  });

  it('has failed ten seconds after its time-out, and is not started again before that call is over', async () => {
    const first = run();
    await clock.advance(11_000);
    let isOver = false;
    void first.then(() => {
      isOver = true;
    });
    await clock.settle();
    assert.equal(isOver, false);
    await clock.advance(1_100);
    assert.deepEqual(await first, timedOut);
    assert.deepEqual(await run(), timedOut);
    assert.equal(calls.length, 1);
    calls[0]?.reject(new CriError('DeadlineExceeded', 'ExecSync', 'context deadline exceeded'));
    await clock.settle();
    const again = run();
    assert.equal(calls.length, 2);
    calls[1]?.resolve(ended);
    assert.deepEqual(await again, { result: 'success', output: 'ok' });
  });

  it('holds up neither another probe of the container nor another container', async () => {
    void run();
    await clock.advance(12_100);
    void run({ type: 'readiness' });
    void run({ containerId: 'c2' });
    assert.equal(calls.length, 3);
  });

  it('leaves no timer behind once it was answered', async () => {
    const first = run();
    calls[0]?.resolve(ended);
    assert.equal((await first).result, 'success');
    await clock.advance(60_000);
    assert.equal(clock.pending, 0);
  });
});
