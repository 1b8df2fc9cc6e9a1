import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { StartSlots } from './start-slots.ts';

const never = new AbortController().signal;

describe('start slots', () => {
  it('grant as many as the limit, the rest in order, critical ones first', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 1);
    const first = await slots.acquire(false, never);
    const order: string[] = [];
    const ask = async (name: string, critical: boolean) => {
      const slot = await slots.acquire(critical, never);
      order.push(name);
      slot.release();
    };
    const asked = [ask('a', false), ask('b', false), ask('critical', true)];
    await clock.settle();
    assert.deepEqual(order, []);
    first.release();
    await Promise.all(asked);
    assert.deepEqual(order, ['critical', 'a', 'b']);
    assert.deepEqual(slots.load, { used: 0, waiting: 0 });
  });
  it('are free while their pod waits for something outside, and come back ahead of pods that have not begun', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 1);
    const puller = await slots.acquire(false, never);
    const pull = Promise.withResolvers<string>();
    const order: string[] = [];
    const pulled = puller.whileSlow(pull.promise).then((image) => order.push(`puller goes on with ${image}`));
    const other = slots.acquire(false, never);
    await clock.advance(60);
    const held = await other;
    order.push('other began');
    const third = slots.acquire(false, never).then(() => order.push('third began'));
    pull.resolve('image');
    await clock.settle();
    assert.deepEqual(order, ['other began'], 'the puller waits for a slot again');
    held.release();
    await pulled;
    assert.deepEqual(order, ['other began', 'puller goes on with image']);
    puller.release();
    await third;
    assert.equal(slots.load.used, 1);
  });
  it('are one a pod, however many of its containers wait for something outside', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 2);
    const slot = await slots.acquire(false, never);
    const works = Array.from({ length: 50 }, () => Promise.withResolvers<void>());
    const waits = works.map((work) => slot.whileSlow(work.promise));
    await clock.advance(60);
    assert.equal(slots.load.used, 0);
    for (const work of works) work.resolve();
    await Promise.all(waits);
    assert.deepEqual(slots.load, { used: 1, waiting: 0 });
    slot.release();
    assert.deepEqual(slots.load, { used: 0, waiting: 0 });
  });
  it('are given back by a pod that was over before it got its own again', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 1);
    const slot = await slots.acquire(false, never);
    const works = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const waits = works.map((work) => slot.whileSlow(work.promise));
    await clock.advance(60);
    const other = await slots.acquire(false, never);
    for (const work of works) work.resolve();
    await clock.settle();
    slot.release();
    other.release();
    await Promise.all(waits);
    assert.deepEqual(slots.load, { used: 0, waiting: 0 });
  });
  it('are kept by what is quick', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 1);
    const slot = await slots.acquire(false, never);
    assert.equal(await slot.whileSlow(Promise.resolve(1)), 1);
    assert.equal(slots.load.used, 1);
  });
  it('are lent out after 30 seconds', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 1);
    const stuck = await slots.acquire(false, never);
    let began = false;
    const next = slots.acquire(false, never).then(() => {
      began = true;
    });
    await clock.advance(29_000);
    assert.equal(began, false);
    await clock.advance(2_000);
    await next;
    assert.equal(began, true);
    stuck.release();
    assert.equal(slots.load.used, 1, 'a slot that was lent is not given back twice');
  });
  it('forget a waiter that was aborted', async () => {
    const clock = new SimClock();
    const slots = new StartSlots(clock, 1);
    const held = await slots.acquire(false, never);
    const abort = new AbortController();
    const waiter = slots.acquire(false, abort.signal);
    abort.abort(new Error('stop'));
    await assert.rejects(waiter, /stop/);
    held.release();
    assert.deepEqual(slots.load, { used: 0, waiting: 0 });
  });
});
