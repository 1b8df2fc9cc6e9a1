import assert from 'node:assert/strict';
import { it } from 'node:test';
import { podUid } from '../api/brands.ts';
import { PodCache } from './cache.ts';
import { nothingObserved } from './observer.ts';

it('an older observation never replaces a newer one', () => {
  const cache = new PodCache();
  const uid = podUid('u');
  const at = (time: number) => nothingObserved(uid, time);
  assert.equal(cache.put(at(5)), true);
  assert.equal(cache.put(at(4)), false);
  assert.equal(cache.get(uid)?.observedAt, 5);
  assert.equal(cache.put(at(5)), true);
  cache.delete(uid);
  assert.equal(cache.put(at(1)), true);
});
