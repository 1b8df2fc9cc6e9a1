import assert from 'node:assert/strict';
import { test } from 'node:test';
import { image, refusal, request, World } from '../../test/support/imageWorld.ts';
import { CriError } from '../cri/errors.ts';

test('policy table: absent', async () => {
  const world = new World();
  const manager = world.manager();
  assert.deepEqual(await manager.ensureImage(request('app:1', 'IfNotPresent')), { imageRef: 'sha256:app:1' });
  assert.deepEqual(world.pulled, [{ image: 'app:1', user: undefined, annotations: { a: 'b' } }]);
  assert.deepEqual(world.events, [
    'spec.containers{c} Normal Pulling Pulling image "app:1"',
    'spec.containers{c} Normal Pulled Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 1000 bytes.',
  ]);
  world.events.length = 0;
  const err = await refusal(manager.ensureImage(request('other:1', 'Never')));
  assert.equal(err.code, 'ErrImageNeverPull');
  assert.equal(err.message, 'Container image "other:1" is not present with pull policy of Never');
  assert.deepEqual(world.events, [
    'spec.containers{c} Warning ErrImageNeverPull Container image "other:1" is not present with pull policy of Never',
    'spec.containers{c} Warning Failed Error: ErrImageNeverPull',
  ]);
});

test('policy table: present', async () => {
  const world = new World();
  world.present.set('app:1', image('sha256:one'));
  const manager = world.manager();
  for (const policy of ['IfNotPresent', 'Never'] as const) {
    assert.deepEqual(await manager.ensureImage(request('app:1', policy)), { imageRef: 'sha256:one' });
  }
  assert.equal(world.pulled.length, 0);
  assert.equal(
    world.events[0],
    'spec.containers{c} Normal Pulled Container image "app:1" already present on machine and can be accessed by the pod',
  );
  await world.manager({ verifyCredentials: false }).ensureImage(request('app:1', 'Never'));
  assert.equal(world.events.at(-1), 'spec.containers{c} Normal Pulled Container image "app:1" already present on machine');
  // Always pulls without a look first; the only question after it is the size.
  world.inspected.length = 0;
  assert.deepEqual(await manager.ensureImage(request('app:1', 'Always')), { imageRef: 'sha256:app:1' });
  assert.equal(world.pulled.length, 1);
  assert.deepEqual(world.inspected, ['app:1']);
  assert.deepEqual(world.counted, [
    ['IfNotPresent', true, false],
    ['Never', true, false],
    ['Never', true, false],
    ['pulled', 0, 1000],
    ['Always', undefined, true],
  ]);
});

test('a name without a tag gets latest, which without a policy means Always', async () => {
  const world = new World();
  world.present.set('app:latest', image('sha256:old'));
  await world.manager().ensureImage(request('app'));
  assert.deepEqual(
    world.pulled.map((p) => p.image),
    ['app:latest'],
  );
  // Events show the image as the pod spells it.
  assert.equal(world.events[0], 'spec.containers{c} Normal Pulling Pulling image "app"');
  await world.manager().ensureImage(request('app:2'));
  assert.deepEqual(
    world.pulled.map((p) => p.image),
    ['app:latest', 'app:2'],
  );
});

test('a bad name is InvalidImageName and is asked of nobody', async () => {
  const world = new World();
  for (const bad of ['UPPER', '', 'a b', ':tag']) {
    const err = await refusal(world.manager().ensureImage(request(bad, 'IfNotPresent')));
    assert.equal(err.code, 'InvalidImageName');
    assert.match(err.message, /^Failed to apply default image tag "/);
    assert.match(world.events.at(-2) ?? '', /Warning InspectFailed Failed to apply default image tag/);
    assert.match(world.events.at(-1) ?? '', /Warning Failed Error: InvalidImageName$/);
  }
  assert.deepEqual([world.inspected, world.pulled], [[], []]);
});

test('a failed look is ImageInspectError with the empty reference that tools know', async () => {
  const world = new World();
  world.inspect = async () => {
    throw new CriError('Unavailable', 'ImageStatus', 'no socket');
  };
  const err = await refusal(world.manager().ensureImage(request('app:1', 'IfNotPresent')));
  assert.equal(err.code, 'ImageInspectError');
  assert.equal(err.message, 'Failed to inspect image "": rpc error: code = Unavailable desc = no socket');
  assert.equal(world.events[0], `spec.containers{c} Warning InspectFailed ${err.message}`);
  // A failure is not remembered.
  world.inspect = async () => image('sha256:x');
  assert.deepEqual(await world.manager().ensureImage(request('app:1', 'Never')), { imageRef: 'sha256:x' });
});

test('a failed pull: ErrImagePull, then ImagePullBackOff that repeats it, 10 s doubling, reset by success', async () => {
  const world = new World();
  const manager = world.manager();
  const succeed = world.pull;
  world.pull = async () => {
    throw new CriError('NotFound', 'PullImage', 'no such image');
  };
  const first = await refusal(manager.ensureImage(request('app:1')));
  assert.equal(first.code, 'ErrImagePull');
  assert.equal(first.message, 'rpc error: code = NotFound desc = no such image');
  assert.equal(first.retryAfterMs, 10_000);
  assert.equal(first.retryAtMonotonic, world.clock.monotonic() + 10_000);
  assert.deepEqual(world.events.slice(-2), [
    'spec.containers{c} Warning Failed Failed to pull image "app:1": rpc error: code = NotFound desc = no such image',
    'spec.containers{c} Warning Failed Error: ErrImagePull',
  ]);
  await world.clock.advance(4_000);
  const second = await refusal(manager.ensureImage(request('app:1')));
  assert.equal(second.code, 'ImagePullBackOff');
  assert.equal(second.message, 'Back-off pulling image "app:1": ErrImagePull: rpc error: code = NotFound desc = no such image');
  assert.equal(second.retryAfterMs, 6_000);
  assert.deepEqual(world.events.slice(-2), [
    'spec.containers{c} Normal BackOff Back-off pulling image "app:1"',
    'spec.containers{c} Warning Failed Error: ImagePullBackOff',
  ]);
  assert.equal(world.pulled.length, 1);
  // Another pod has its own back-off.
  assert.equal((await refusal(manager.ensureImage(request('app:1', 'IfNotPresent', 'other')))).code, 'ErrImagePull');
  await world.clock.advance(6_000);
  assert.equal((await refusal(manager.ensureImage(request('app:1')))).retryAfterMs, 20_000);
  await world.clock.advance(20_000);
  world.pull = succeed;
  await manager.ensureImage(request('app:1'));
  world.present.clear();
  manager.forget('app:1');
  world.pull = async () => {
    throw new CriError('Unknown', 'PullImage', 'plain text of the runtime');
  };
  const afresh = await refusal(manager.ensureImage(request('app:1')));
  assert.equal(afresh.retryAfterMs, 10_000);
  // The code Unknown says nothing: its text stands alone.
  assert.equal(afresh.message, 'plain text of the runtime');
});

test('back-off ends at 300 s and is forgotten after ten quiet minutes', async () => {
  const world = new World();
  const manager = world.manager();
  world.pull = async () => {
    throw new CriError('NotFound', 'PullImage', 'gone');
  };
  const waits: (number | undefined)[] = [];
  for (let i = 0; i < 7; i++) {
    const { retryAfterMs = 0 } = await refusal(manager.ensureImage(request('app:1')));
    waits.push(retryAfterMs / 1000);
    await world.clock.advance(retryAfterMs);
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 300, 300]);
  await world.clock.advance(300_001);
  manager.collect();
  assert.equal((await refusal(manager.ensureImage(request('app:1')))).retryAfterMs, 10_000);
});

test('marked causes have reasons of their own', async () => {
  const world = new World();
  const manager = world.manager();
  world.pull = async () => {
    throw new CriError('Unknown', 'PullImage', 'RegistryUnavailable: no route');
  };
  const down = await refusal(manager.ensureImage(request('app:1')));
  assert.equal(down.code, 'RegistryUnavailable');
  assert.equal(down.message, 'image pull failed for app:1 because the registry is unavailable: no route');
  world.pull = async () => {
    throw new CriError('Unknown', 'PullImage', 'SignatureValidationFailed');
  };
  const unsigned = await refusal(manager.ensureImage(request('app:2')));
  assert.equal(unsigned.code, 'SignatureValidationFailed');
  assert.equal(unsigned.message, 'image pull failed for app:2 because the signature validation failed');
});

test('containers of one pod that start together pull their image once; when that fails the second one is backed off', async () => {
  const world = new World();
  const manager = world.manager({ limits: { serial: false, maxParallel: undefined, qps: 0, burst: 0 } });
  const refs = await Promise.all([manager.ensureImage(request('x:1')), manager.ensureImage(request('x:1'))]);
  assert.deepEqual(refs, [{ imageRef: 'sha256:x:1' }, { imageRef: 'sha256:x:1' }]);
  assert.equal(world.pulled.length, 1);
  world.pull = async () => {
    throw new Error('gone');
  };
  const refused = await Promise.all([1, 2].map(() => refusal(manager.ensureImage(request('y:1')))));
  assert.deepEqual(
    refused.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    [
      ['ErrImagePull', 10_000],
      ['ImagePullBackOff', 10_000],
    ],
  );
});
