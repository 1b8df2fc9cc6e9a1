import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Container, Pod } from '../api/types.ts';
import { CriError } from '../cri/errors.ts';
import type { AuthConfig, Image, ImageSpec, PodSandboxConfig } from '../cri/types.ts';
import { type ImageError, isImageError } from './image-error.ts';
import { ImageManager, type ImageManagerDeps } from './image-manager.ts';
import { imageSizeBucket } from './image-metrics.ts';
import { emptyKeyring } from './keyring.ts';

const sandboxConfig: PodSandboxConfig = {
  metadata: { name: 'p', uid: 'u', namespace: 'ns', attempt: 0 },
  portMappings: [],
  labels: {},
  annotations: {},
};

const image = (id: string, size = 1000): Image => ({ id, repoTags: [], repoDigests: [], size, username: '', pinned: false });
const auth = (username: string): AuthConfig => ({
  username,
  password: '',
  auth: '',
  serverAddress: '',
  identityToken: '',
  registryToken: '',
});

/** A registry and a runtime in memory; `pull` and `inspect` may be replaced. */
class World {
  readonly clock = new SimClock();
  readonly present = new Map<string, Image>();
  readonly events: string[] = [];
  readonly inspected: string[] = [];
  readonly pulled: { image: string; user: string | undefined; annotations: unknown }[] = [];
  readonly counted: unknown[] = [];
  inspect: (spec: ImageSpec) => Promise<Image | undefined> = async (spec) => this.present.get(spec.image);
  pull: (spec: ImageSpec, auth?: AuthConfig, signal?: AbortSignal) => Promise<string> = async (spec) => {
    this.present.set(spec.image, image(`sha256:${spec.image}`));
    return `sha256:${spec.image}`;
  };

  manager(more: Partial<ImageManagerDeps> = {}): ImageManager {
    return new ImageManager({
      images: {
        imageStatus: (spec) => {
          this.inspected.push(spec.image);
          return this.inspect(spec);
        },
        pullImage: (spec, credential, _sandbox, opts) => {
          this.pulled.push({ image: spec.image, user: credential?.username, annotations: spec.annotations });
          return this.pull(spec, credential, opts?.signal);
        },
      },
      keyring: emptyKeyring,
      clock: this.clock,
      events: {
        event: (object, type, reason, message) => void this.events.push(`${object.fieldPath ?? '-'} ${type} ${reason} ${message}`),
      },
      metrics: {
        pulled: (seconds, size) => void this.counted.push(['pulled', seconds, size]),
        ensured: (...args) => void this.counted.push(args),
      },
      limits: { serial: true, maxParallel: undefined, qps: 0, burst: 0 },
      verifyCredentials: true,
      ...more,
    });
  }
}

function request(imageName: string, policy?: Container['imagePullPolicy'], uid = 'u', signal = new AbortController().signal) {
  const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid, annotations: { a: 'b' } }, spec: { containers: [] } };
  const container = policy === undefined ? { image: imageName } : { image: imageName, imagePullPolicy: policy };
  return { pod, container, fieldPath: 'spec.containers{c}', sandboxConfig, signal };
}

async function refusal(work: Promise<unknown>): Promise<ImageError> {
  try {
    await work;
  } catch (err) {
    if (isImageError(err)) return err;
    throw err;
  }
  throw new Error('the image was given');
}

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
  const keyring = { lookup: () => [auth('first'), auth('second'), auth('third')] };
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
