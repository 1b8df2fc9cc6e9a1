import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/types.ts';
import { systemClock } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import type { VolumeUsage } from './usage.ts';
import { VolumeStats } from './volume-stats.ts';

describe('VolumeStats', () => {
  const podOf = (uid: string): Pod => ({ metadata: { name: uid, namespace: 'shop', uid }, spec: { containers: [] } });
  const { signal } = new AbortController();

  function world(answers: Record<string, () => number>) {
    const state = { now: 0, pods: Object.keys(answers).map(podOf), measured: [] as string[] };
    const stats = new VolumeStats({
      clock: { ...systemClock, monotonic: () => state.now },
      log: silentLogger,
      pods: () => state.pods,
      periodMs: 60_000,
      usageOf: async ({ metadata: { uid } }): Promise<VolumeUsage[]> => {
        state.measured.push(uid);
        return [{ volume: 'v', plugin: 'p', measuredAtMs: state.now, usedBytes: answers[uid]?.() ?? 0 }];
      },
    });
    return { state, stats, used: (uid: string) => stats.ofPod(uid).map((u) => u.usedBytes) };
  }

  it('measures a pod at once and then each period, and forgets it when it is gone', async () => {
    let n = 0;
    const { state, stats, used } = world({ a: () => ++n });
    assert.deepEqual(used('a'), []);
    for (const at of [0, 10_000, 59_999, 60_000]) {
      state.now = at;
      await stats.round(signal);
    }
    assert.deepEqual([used('a'), state.measured], [[2], ['a', 'a']]);
    state.pods = [];
    await stats.round(signal);
    assert.deepEqual(used('a'), []);
  });

  it('keeps the old figures of a pod that cannot be measured, and goes on with the next', async () => {
    let fails = false;
    const { state, stats, used } = world({
      a: () => {
        if (fails) throw new Error('the file system has not answered');
        return 1;
      },
      b: () => 2,
    });
    await stats.round(signal);
    fails = true;
    state.now = 60_000;
    await stats.round(signal);
    assert.deepEqual([used('a'), used('b'), state.measured], [[1], [2], ['a', 'b', 'a', 'b']]);
  });
});
