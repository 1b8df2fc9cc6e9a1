import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { Schedule } from './schedule.ts';

describe('the schedule', () => {
  it('calls everybody in the order of their times, never early, and at most 10 ms late', async () => {
    const clock = new SimClock();
    const schedule = new Schedule(clock);
    const waits = Array.from({ length: 500 }, (_, i) => (i * 7919) % 4999);
    const called: [want: number, at: number][] = [];
    for (const ms of waits) schedule.after(ms, () => called.push([ms, clock.monotonic()]));
    assert.equal(clock.pending, 1);
    await clock.advance(6_000);
    assert.equal(called.length, 500);
    for (const [want, at] of called) assert.ok(at >= want - 1 && at <= want + 11, `${want} at ${at}`);
    assert.equal(clock.pending, 0);
  });
  it('does not call who cancelled, also within the same instant, and never calls back at once', async () => {
    const clock = new SimClock();
    const schedule = new Schedule(clock);
    const called: string[] = [];
    schedule.after(5, () => {
      called.push('first');
      second.cancel();
      schedule.after(0, () => called.push('third'));
    });
    const second = schedule.after(5, () => called.push('second'));
    schedule.after(0, () => called.push('zero'));
    schedule.after(2, () => called.push('never')).cancel();
    assert.deepEqual(called, []);
    await clock.advance(100);
    assert.deepEqual(called, ['zero', 'first', 'third']);
    second.cancel();
  });
  it('lets the event loop have its turn between many of one instant', async () => {
    const clock = new SimClock();
    const schedule = new Schedule(clock);
    const instants = new Map<number, number>();
    for (let i = 0; i < 100; i++) schedule.after(10, () => instants.set(clock.monotonic(), (instants.get(clock.monotonic()) ?? 0) + 1));
    await clock.advance(50);
    assert.equal(
      [...instants.values()].reduce((a, b) => a + b, 0),
      100,
    );
    assert.ok(Math.max(...instants.values()) <= 16);
  });
});
