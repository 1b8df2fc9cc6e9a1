import assert from 'node:assert/strict';
import { it } from 'node:test';
import { instance } from '../../test/support/plan-fixtures.ts';
import type { Files } from '../host/files.ts';
import { highestLog, nextRestartCount } from './restart-count.ts';

const files = (names: string[] | 'none') =>
  ({
    list: async () => {
      if (names === 'none') throw Object.assign(new Error('none'), { code: 'ENOENT' });
      return names.map((name) => ({ name, kind: 'file' }));
    },
  }) as unknown as Files;

it('a count is one more than that of the newest instance', async () => {
  assert.equal(await nextRestartCount(files(['9.log']), '/logs', { ...instance('c', 'exited'), restartCount: 4 }), 5);
});

it('without one it is one more than the highest log, rotated ones too, and 0 where there is no folder', async () => {
  assert.equal(await nextRestartCount(files(['0.log', '3.log.20300102-030405.gz', 'x.log', '7.txt']), '/logs', undefined), 4);
  assert.equal(await nextRestartCount(files([]), '/logs', undefined), 0);
  assert.equal(await nextRestartCount(files('none'), '/logs', undefined), 0);
});

it('a number of hostile length is no count', () => {
  assert.equal(highestLog(['99999999999999999999.log', '2.log']), 2);
});
