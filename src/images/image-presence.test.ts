import assert from 'node:assert/strict';
import { test } from 'node:test';
import { image, refusal, request, World } from '../../test/support/imageWorld.ts';
import type { Image } from '../cri/types.ts';

test('a hundred pods of one image ask the runtime once, and again after a moment', async () => {
  const world = new World();
  world.present.set('app:1', image('sha256:one'));
  const manager = world.manager();
  await Promise.all(Array.from({ length: 100 }, (_, i) => manager.ensureImage(request('app:1', 'Never', `u${i}`))));
  await manager.ensureImage(request('app:1', 'Never'));
  assert.equal(world.inspected.length, 1);
  await world.clock.advance(2_001);
  await manager.ensureImage(request('app:1', 'Never'));
  assert.equal(world.inspected.length, 2);
});

test('an image that is forgotten is asked for again, by name and by reference; absence is never remembered', async () => {
  const world = new World();
  world.present.set('app:1', image('sha256:one'));
  const manager = world.manager();
  await manager.ensureImage(request('app:1', 'Never'));
  world.present.clear();
  manager.forget('sha256:other');
  await manager.ensureImage(request('app:1', 'Never'));
  manager.forget('sha256:one');
  assert.equal((await refusal(manager.ensureImage(request('app:1', 'Never')))).code, 'ErrImageNeverPull');
  world.present.set('app:1', image('sha256:one'));
  assert.deepEqual(await manager.ensureImage(request('app:1', 'Never')), { imageRef: 'sha256:one' });
});

test('an answer under way when its image is forgotten is not remembered', async () => {
  const world = new World();
  let answer: (found: Image | undefined) => void = () => {};
  world.inspect = () => new Promise((resolve) => (answer = resolve));
  const manager = world.manager();
  const early = manager.ensureImage(request('app:1', 'Never'));
  await world.clock.advance(1);
  manager.forget('app:1');
  answer(image('sha256:stale'));
  assert.deepEqual(await early, { imageRef: 'sha256:stale' });
  const late = manager.ensureImage(request('app:1', 'Never'));
  await world.clock.advance(1);
  answer(undefined);
  assert.equal((await refusal(late)).code, 'ErrImageNeverPull');
});

test('a pod that gives up waits no longer; the shared question goes on for the others', async () => {
  const world = new World();
  let answer: (found: Image) => void = () => {};
  world.inspect = () => new Promise((resolve) => (answer = resolve));
  const manager = world.manager();
  const abort = new AbortController();
  const leaving = manager.ensureImage(request('app:1', 'Never', 'u1', abort.signal));
  const staying = manager.ensureImage(request('app:1', 'Never', 'u2'));
  abort.abort(new Error('deleted'));
  await assert.rejects(leaving, /deleted/);
  answer(image('sha256:x'));
  assert.deepEqual(await staying, { imageRef: 'sha256:x' });
  assert.equal(world.inspected.length, 1);
  // Giving up is no event.
  assert.ok(world.events.every((e) => !e.includes('Warning')));
});
