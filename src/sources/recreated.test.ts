import assert from 'node:assert/strict';
import test from 'node:test';
import { Recreated } from './recreated.ts';

test('a file that was away, or was told of twice, counts as recreated; one renamed over another does not', async () => {
  const there = new Set(['/d/kept', '/d/twice']);
  const recreated = new Recreated({ isGone: async (path) => !there.has(path) }, '/d');
  recreated.note('kept');
  recreated.note('twice');
  recreated.note('twice');
  recreated.note('away');
  there.add('/d/away');
  assert.deepEqual(await recreated.take(), new Set(['twice', 'away']));
  recreated.note('kept');
  assert.deepEqual(await recreated.take(), new Set(), 'each look counts for itself');
});
