import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { Dispatcher } from './dispatcher.ts';
import type { LaneStep } from './lane.ts';
import type { PodLifecycle, StepResult } from './lifecycle.ts';

const pod = (uid: string, name = uid, source = 'file'): Pod => ({
  metadata: { name, namespace: 'n', uid, annotations: { 'kubernetes.io/config.source': source } },
  spec: { containers: [] },
});
const stay: StepResult = { kind: 'stay', retryAfterMs: undefined };

/** A dispatcher whose steps end when the test says so. */
function rig() {
  const clock = new SimClock();
  const running = new Map<string, { state: PodLifecycle; signal: AbortSignal; end(result: StepResult): void; fail(err: Error): void }>();
  const log: string[] = [];
  const step: LaneStep = (state, signal) => {
    assert.equal(running.has(state.uid), false, 'two steps of one lane at once');
    log.push(`${state.uid}:${state.phase}`);
    return new Promise<StepResult>((resolve, reject) => {
      const leave = (then: () => void) => {
        running.delete(state.uid);
        then();
      };
      running.set(state.uid, { state, signal, end: (r) => leave(() => resolve(r)), fail: (e) => leave(() => reject(e)) });
      signal.addEventListener('abort', () => leave(() => reject(signal.reason as Error)), { once: true });
    });
  };
  return { clock, running, log, dispatcher: new Dispatcher({ clock, log: silentLogger, step }) };
}

describe('lanes', () => {
  it('run one step at a time and merge what arrives meanwhile', async () => {
    const { dispatcher, running, clock, log } = rig();
    dispatcher.submit(podUid('a'), { pod: pod('a') });
    await clock.settle();
    for (let i = 0; i < 5; i++) dispatcher.submit(podUid('a'), { wake: true });
    await clock.settle();
    assert.deepEqual(log, ['a:sync']);
    running.get('a')?.end(stay);
    await clock.settle();
    assert.deepEqual(log, ['a:sync', 'a:sync']);
    running.get('a')?.end(stay);
    await clock.settle();
    assert.equal(log.length, 2, 'nothing is left to do');
  });
  it('abort a sync when the pod is to be stopped', async () => {
    const { dispatcher, running, clock, log } = rig();
    dispatcher.submit(podUid('a'), { pod: pod('a') });
    await clock.settle();
    const first = running.get('a');
    dispatcher.submit(podUid('a'), { kills: [{ cause: 'removed' }] });
    await clock.settle();
    assert.equal(first?.signal.aborted, true);
    assert.deepEqual(log, ['a:sync', 'a:terminating']);
    dispatcher.submit(podUid('a'), { kills: [{ cause: 'requested', graceSeconds: 1 }] });
    await clock.settle();
    assert.deepEqual(log, ['a:sync', 'a:terminating', 'a:terminating']);
  });
  it('come back after the time a step asks for', async () => {
    const { dispatcher, running, clock, log } = rig();
    dispatcher.submit(podUid('a'), { pod: pod('a') });
    await clock.settle();
    running.get('a')?.end({ kind: 'stay', retryAfterMs: 10_000 });
    await clock.advance(9_000);
    assert.equal(log.length, 1);
    await clock.advance(2_000);
    assert.equal(log.length, 2);
  });
  it('let static pods of one full name pass one at a time', async () => {
    const { dispatcher, running, clock, log } = rig();
    dispatcher.submit(podUid('old'), { pod: pod('old', 'web') });
    await clock.settle();
    dispatcher.submit(podUid('new'), { pod: pod('new', 'web') });
    await clock.settle();
    assert.deepEqual(log, ['old:sync'], 'the new one waits');
    dispatcher.submit(podUid('old'), { kills: [{ cause: 'removed' }] });
    await clock.settle();
    running.get('old')?.end({ kind: 'advance' });
    await clock.settle();
    running.get('old')?.end({ kind: 'advance' });
    await clock.settle();
    assert.equal(dispatcher.state(podUid('old'))?.phase, 'finished');
    assert.deepEqual(log, ['old:sync', 'old:terminating', 'old:terminated', 'new:sync']);
    assert.equal(dispatcher.remove(podUid('old')), true);
  });
  it('end without a trace when the agent stops', async () => {
    const { dispatcher, clock, log } = rig();
    dispatcher.submit(podUid('a'), { pod: pod('a') });
    await clock.settle();
    await dispatcher.close();
    assert.equal(dispatcher.submit(podUid('b'), { pod: pod('b') }), false);
    await clock.advance(100_000);
    assert.deepEqual(log, ['a:sync']);
  });
});
