import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { CsiLimits } from './csi-limits.ts';

test('a driver is asked again as often as its CSIDriver says, and one that does not answer holds up no other', async () => {
  const clock = new SimClock();
  const periods = new Map([
    ['often', 20],
    ['never', undefined],
    ['dead', 10],
  ]);
  const published: string[] = [];
  const stop = new AbortController();
  let limit = 3;
  const limits = new CsiLimits({
    clock,
    log: silentLogger,
    drivers: () => [...periods.keys()],
    periodSeconds: async (driver) => periods.get(driver),
    ask: async (driver) => {
      if (driver === 'dead') return new Promise(() => {});
      return { nodeId: 'n', maxVolumes: limit++, topology: {} };
    },
    publish: async (driver, { maxVolumes }) => void published.push(`${driver} ${maxVolumes}`),
  });
  limits.start(stop.signal);
  await clock.advance(61_000);
  assert.deepEqual(published, ['often 3', 'often 4', 'often 5']);
  periods.delete('often');
  await clock.advance(60_000);
  assert.equal(published.length, 3);
  stop.abort();
  await limits.stop();
});
