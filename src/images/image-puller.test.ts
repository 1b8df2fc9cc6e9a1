import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, request, World } from '../../test/support/imageWorld.ts';
import { CriError } from '../cri/errors.ts';
import type { Credential } from './credential-index.ts';
import { isImageError } from './image-error.ts';
import { imageSizeBucket } from './image-metrics.ts';

const login = (username: string): Credential => ({ login: { username, password: '', email: '' }, source: undefined });

test('serial pulls go one by one, in order, and a pod that leaves the queue does not hold it up', async () => {
  const world = new World();
  const done = new Map<string, () => void>();
  world.pull = (spec) => new Promise((resolve) => done.set(spec.image, () => resolve('ref')));
  const manager = world.manager();
  const abort = new AbortController();
  const a = manager.ensureImage(request('a:1', 'Always', 'a'));
  const b = manager.ensureImage(request('b:1', 'Always', 'b', abort.signal));
  const c = manager.ensureImage(request('c:1', 'Always', 'c'));
  await world.clock.advance(1_500);
  assert.deepEqual([...done.keys()], ['a:1']);
  abort.abort(new Error('gone'));
  await assert.rejects(b, /gone/);
  done.get('a:1')?.();
  await a;
  await world.clock.advance(2_250);
  assert.deepEqual([...done.keys()], ['a:1', 'c:1']);
  done.get('c:1')?.();
  await c;
  // c waited 1.5 s for its turn, then took 2.25 s.
  assert.match(world.events.at(-1) ?? '', /in 2\.25s \(3\.75s including waiting\)\. Image size: 0 bytes\.$/);
});

test('parallel pulls keep to their limit; without one all run', async () => {
  for (const [maxParallel, expected] of [
    [2, 2],
    [undefined, 5],
  ] as const) {
    const world = new World();
    const running: (() => void)[] = [];
    let most = 0;
    let now = 0;
    world.pull = (_spec) =>
      new Promise((resolve) => {
        now += 1;
        most = Math.max(most, now);
        running.push(() => {
          now -= 1;
          resolve('ref');
        });
      });
    const manager = world.manager({ limits: { serial: false, maxParallel, qps: 0, burst: 0 } });
    const all = Promise.all(Array.from({ length: 5 }, (_, i) => manager.ensureImage(request(`i${i}:1`, 'Always', `u${i}`))));
    for (let i = 0; i < 5; i++) {
      await world.clock.advance(1);
      running.shift()?.();
    }
    await all;
    assert.equal(most, expected);
  }
});

test('pulls over the QPS fail as the real kubelet words it, and tokens come back with time', async () => {
  const world = new World();
  const manager = world.manager({ limits: { serial: false, maxParallel: undefined, qps: 5, burst: 2 } });
  const results = await Promise.allSettled(['a', 'b', 'c'].map((n) => manager.ensureImage(request(`${n}:1`, 'Always', n))));
  assert.deepEqual(
    results.map((r) => r.status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  const third = results[2];
  assert.ok(third?.status === 'rejected' && isImageError(third.reason, 'ErrImagePull'));
  assert.equal(third.reason.message, 'pull QPS exceeded');
  await world.clock.advance(200);
  await manager.ensureImage(request('d:1', 'Always', 'd'));
});

test('credentials are tried one by one; when all fail their texts stand together', async () => {
  const world = new World();
  const keyring = { credentials: () => [login('first'), login('second'), login('third')] };
  world.pull = async (_spec, credential) => {
    if (credential?.username !== 'second') throw new CriError('Unknown', 'PullImage', `denied ${credential?.username}`);
    return 'ref';
  };
  assert.deepEqual(await world.manager({ keyring }).ensureImage(request('app:1', 'Always')), { imageRef: 'ref' });
  assert.deepEqual(
    world.pulled.map((p) => p.user),
    ['first', 'second'],
  );
  world.pull = async (_spec, credential) => {
    throw new CriError('Unknown', 'PullImage', credential?.username === 'third' ? 'denied first' : `denied ${credential?.username}`);
  };
  assert.equal(
    (await refusal(world.manager({ keyring }).ensureImage(request('app:1', 'Always')))).message,
    '[denied first, denied second]',
  );
});

test('an abort during the pull reaches the runtime and costs no back-off', async () => {
  const world = new World();
  const manager = world.manager();
  const abort = new AbortController();
  world.pull = (_spec, _auth, signal) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(new CriError('Canceled', 'PullImage', 'context canceled'))),
    );
  const pulling = manager.ensureImage(request('app:1', 'Always', 'u', abort.signal));
  await world.clock.advance(5);
  abort.abort(new Error('deleted'));
  await assert.rejects(pulling, /deleted/);
  assert.deepEqual(world.events, ['spec.containers{c} Normal Pulling Pulling image "app:1"']);
  world.pull = async () => 'ref';
  assert.deepEqual(await manager.ensureImage(request('app:1', 'Always')), { imageRef: 'ref' });
});

test('size labels: a bound belongs to the smaller class', () => {
  const mebibyte = 1024 * 1024;
  assert.equal(imageSizeBucket(0), 'N/A');
  assert.equal(imageSizeBucket(1), '0-10MB');
  assert.equal(imageSizeBucket(10 * mebibyte), '0-10MB');
  assert.equal(imageSizeBucket(10 * mebibyte + 1), '10MB-100MB');
  assert.equal(imageSizeBucket(1024 * mebibyte), '500MB-1GB');
  assert.equal(imageSizeBucket(100 * 1024 * mebibyte + 1), 'GT100GB');
});
