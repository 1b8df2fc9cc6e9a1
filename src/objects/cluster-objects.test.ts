import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ObjectsWorld, podReading } from '../../test/support/objectsWorld.ts';
import type { Pod } from '../api/types.ts';

async function inWorld(strategy: 'Watch' | 'Cache' | 'Get', story: (world: ObjectsWorld) => Promise<void>): Promise<void> {
  const world = new ObjectsWorld(strategy);
  try {
    await story(world);
  } finally {
    await world.stop();
  }
  assert.equal(world.server.watches().length, 0, 'a watch outlived the objects');
}

const minute = 60_000;

describe('objects by Watch', () => {
  it('are one watch each, however many pods and reads, and follow their object', () =>
    inWorld('Watch', async (world) => {
      world.put('configmaps', 'cm', { a: '1' });
      world.put('secrets', 's', { key: 'größe' });
      for (let i = 0; i < 50; i++) world.objects.register(podReading(`p${i}`, { configMaps: ['cm'], secrets: ['s'] }));
      for (let i = 0; i < 50; i++) assert.deepEqual(await world.configMap('cm'), { a: '1' });
      assert.deepEqual(await world.secret('s'), { key: 'größe' });
      assert.equal(world.asked, 2);
      world.put('configmaps', 'cm', { a: '2' });
      await world.clock.advance(10);
      assert.deepEqual(await world.configMap('cm'), { a: '2' });
      assert.equal(world.asked, 2);
    }));

  it('end with the last pod that refers to them', () =>
    inWorld('Watch', async (world) => {
      world.put('configmaps', 'cm', {});
      const [one, two] = [podReading('one', { configMaps: ['cm'] }), podReading('two', { configMaps: ['cm'] })];
      const watches = () => world.server.watches('/api/v1/configmaps').length;
      world.objects.register(one);
      world.objects.register(two);
      world.objects.register(one);
      await world.configMap('cm');
      world.objects.unregister('one');
      world.objects.unregister('one');
      await world.clock.advance(10);
      assert.equal(watches(), 1);
      // The pod drops its reference while it lives.
      world.objects.register({ ...two, spec: { containers: [{ name: 'c' }] } });
      await world.clock.advance(10);
      assert.equal(watches(), 0);
      await assert.rejects(world.after(world.objects.configMap('ns', 'cm')), /object "ns"\/"cm" not registered/);
    }));

  it('are undefined while there is none, and tell their pods when they come', () =>
    inWorld('Watch', async (world) => {
      world.objects.register(podReading('p', { secrets: ['late'] }));
      world.objects.register(podReading('other', { secrets: ['else'] }));
      assert.equal(await world.secret('late'), undefined);
      assert.deepEqual(world.appeared, []);
      world.put('secrets', 'late', { k: 'v' });
      await world.clock.advance(10);
      assert.deepEqual(world.appeared, ['p']);
      assert.deepEqual(await world.secret('late'), { k: 'v' });
      world.put('secrets', 'late', { k: 'w' });
      world.remove('secrets', 'late');
      await world.clock.advance(10);
      assert.equal(await world.secret('late'), undefined);
      assert.deepEqual(world.appeared, ['p']);
      assert.equal(world.asked, 2);
    }));

  it('that are immutable are read once and not watched any more', () =>
    inWorld('Watch', async (world) => {
      world.put('configmaps', 'cm', { a: '1' }, { immutable: true });
      world.objects.register(podReading('p', { configMaps: ['cm'] }));
      assert.deepEqual(await world.configMap('cm'), { a: '1' });
      await world.clock.advance(20 * minute);
      assert.equal(world.server.watches('/api/v1/configmaps').length, 0);
      assert.deepEqual(await world.configMap('cm'), { a: '1' });
      assert.equal(world.asked, 1);
      // Deleted and made anew, for a new pod only.
      world.remove('configmaps', 'cm');
      world.put('configmaps', 'cm', { a: '2' });
      world.objects.unregister('p');
      world.objects.register(podReading('q', { configMaps: ['cm'] }));
      assert.deepEqual(await world.configMap('cm'), { a: '2' });
    }));

  it('that nobody reads are not watched, and are fresh when they are read again', () =>
    inWorld('Watch', async (world) => {
      world.put('configmaps', 'idle', { a: '1' });
      world.put('configmaps', 'used', { a: '1' });
      world.objects.register(podReading('p', { configMaps: ['idle', 'used'] }));
      await world.configMap('idle');
      for (let i = 0; i < 7; i++) {
        await world.configMap('used');
        await world.clock.advance(minute);
      }
      assert.equal(world.server.watches('/api/v1/configmaps').length, 1);
      world.put('configmaps', 'idle', { a: '2' });
      assert.deepEqual(await world.configMap('idle'), { a: '2' });
      assert.equal(world.server.watches('/api/v1/configmaps').length, 2);
    }));

  it('are given while the server is away, those too that were not watched, without a storm', () =>
    inWorld('Watch', async (world) => {
      world.put('configmaps', 'idle', { a: '1' });
      world.put('configmaps', 'used', { a: '1' });
      world.objects.register(podReading('p', { configMaps: ['idle', 'used', 'never'] }));
      await world.configMap('idle');
      await world.configMap('used');
      assert.equal(await world.configMap('never'), undefined);
      for (let i = 0; i < 7; i++) {
        await world.configMap('used');
        await world.clock.advance(minute);
      }
      world.server.stop();
      await world.clock.advance(minute);
      const before = world.clock.monotonic();
      assert.deepEqual(await world.configMap('used'), { a: '1' });
      assert.equal(world.clock.monotonic(), before);
      assert.deepEqual(await world.configMap('idle'), { a: '1' });
      assert.ok(world.clock.monotonic() - before <= 1_000);
      await assert.rejects(world.configMap('never'), /^Error: failed to sync configmap cache: timed out waiting for the condition/);
      // A pod that comes now waits a second for what nobody knows.
      world.objects.register(podReading('new', { configMaps: ['unknown'] }));
      await assert.rejects(world.configMap('unknown'), /failed to sync configmap cache: timed out .*ECONNREFUSED/);
      world.server.start();
      const asked = world.asked;
      world.put('configmaps', 'used', { a: '2' });
      await world.clock.advance(minute);
      assert.deepEqual(await world.configMap('used'), { a: '2' });
      assert.equal(await world.configMap('unknown'), undefined);
      assert.ok(world.asked - asked <= 8, `${world.asked - asked} requests for four objects`);
    }));

  it('need few requests while the server refuses them', () =>
    inWorld('Watch', async (world) => {
      world.server.faults.push((r) => (r.path.includes('/secrets') ? { status: 403, reason: 'Forbidden' } : undefined));
      world.objects.register(podReading('p', { secrets: ['s'] }));
      for (let i = 0; i < 60; i++) {
        await assert.rejects(world.secret('s'), /failed to sync secret cache/);
        await world.clock.advance(9_000);
      }
      assert.ok(world.asked < 60, `${world.asked} requests in ten minutes`);
    }));

  it('of impossible names are not even asked for', () =>
    inWorld('Watch', async (world) => {
      world.put('configmaps', 'secret-of-others', { a: '1' });
      const name = 'x,metadata.name=secret-of-others';
      world.objects.register(podReading('p', { configMaps: [name, '..', ''] }));
      assert.equal(await world.configMap(name), undefined);
      assert.equal(await world.configMap(''), undefined);
      assert.equal(world.asked, 0);
    }));

  it('come to an environment as text; what is none cannot be taken for text', () =>
    inWorld('Watch', async (world) => {
      world.put('secrets', 's', { text: 'a\nb' });
      const stored = world.server.store.get('/api/v1/secrets', 'ns/s');
      world.server.store.put('/api/v1/secrets', 'ns/s', {
        ...stored,
        metadata: stored?.metadata ?? {},
        data: { bin: '/w==', text: 'YQpi' },
      });
      world.objects.register(podReading('p', { secrets: ['s'] }));
      const { bin = '', text } = (await world.secret('s')) ?? {};
      assert.equal(text, 'a\nb');
      assert.equal(bin.isWellFormed(), false);
      assert.deepEqual((await world.after(world.objects.secret('ns', 's')))?.data.get('bin'), Buffer.from([0xff]));
    }));
});

describe('objects by Cache', () => {
  it('are asked for when what is known is older than the node says', () =>
    inWorld('Cache', async (world) => {
      world.put('configmaps', 'cm', { a: '1' });
      world.objects.register(podReading('p', { configMaps: ['cm'] }));
      assert.deepEqual(await world.configMap('cm'), { a: '1' });
      world.put('configmaps', 'cm', { a: '2' });
      await world.clock.advance(59_000);
      assert.deepEqual(await world.configMap('cm'), { a: '1' });
      await world.clock.advance(2_000);
      assert.deepEqual(await world.configMap('cm'), { a: '2' });
      assert.equal(world.asked, 2);
      assert.equal(world.server.requests.at(-1)?.query.get('resourceVersion'), '0');
      world.ttlMs = 0;
      world.put('configmaps', 'cm', { a: '3' });
      assert.deepEqual(await world.configMap('cm'), { a: '3' });
    }));

  it('are asked for at once by a new pod, and once for all that ask at a time', () =>
    inWorld('Cache', async (world) => {
      world.put('configmaps', 'cm', { a: '1' });
      world.objects.register(podReading('p', { configMaps: ['cm'] }));
      await world.configMap('cm');
      world.put('configmaps', 'cm', { a: '2' });
      world.objects.register(podReading('q', { configMaps: ['cm'] }));
      const many = await world.after(Promise.all(Array.from({ length: 20 }, () => world.objects.configMap('ns', 'cm'))));
      assert.ok(many.every((value) => value?.data.get('a') === '2'));
      assert.equal(world.asked, 2);
      assert.equal(world.server.requests.at(-1)?.query.get('resourceVersion'), null);
    }));

  it('are given while the server is away, absence too; what was never known rejects', () =>
    inWorld('Cache', async (world) => {
      world.put('secrets', 's', { k: 'v' });
      world.objects.register(podReading('p', { secrets: ['s', 'none', 'new'] }));
      await world.secret('s');
      assert.equal(await world.secret('none'), undefined);
      world.server.stop();
      await world.clock.advance(2 * minute);
      assert.deepEqual(await world.secret('s'), { k: 'v' });
      assert.equal(await world.secret('none'), undefined);
      await assert.rejects(world.secret('new'), /ECONNREFUSED/);
      world.server.start();
      world.put('secrets', 'none', { k: 'now' });
      assert.deepEqual(await world.secret('none'), { k: 'now' });
    }));
});

describe('objects by Get', () => {
  it('are asked for at every read', () =>
    inWorld('Get', async (world) => {
      world.objects.register(podReading('p', { configMaps: ['cm'] }));
      assert.equal(await world.configMap('cm'), undefined);
      world.put('configmaps', 'cm', { a: '1' });
      assert.deepEqual(await world.configMap('cm'), { a: '1' });
      assert.equal(world.asked, 2);
      world.server.stop();
      await assert.rejects(world.configMap('cm'), /ECONNREFUSED/);
    }));
});

describe('pull secrets', () => {
  it('are those that are there, in their order, and the names of the others', () =>
    inWorld('Watch', async (world) => {
      world.put('secrets', 'b', { '.dockerconfigjson': '{}' }, { type: 'kubernetes.io/dockerconfigjson' });
      world.put('secrets', 'a', {}, { type: 'Opaque' });
      const imagePullSecrets = [{ name: 'b' }, { name: 'gone' }, {}, { name: '' }, { name: 'a' }];
      const pod: Pod = podReading('p', {}, { imagePullSecrets });
      world.objects.register(pod);
      const { secrets, missing } = await world.after(world.objects.pullSecrets(pod));
      assert.deepEqual(
        secrets.map(({ name, type }) => [name, type]),
        [
          ['b', 'kubernetes.io/dockerconfigjson'],
          ['a', 'Opaque'],
        ],
      );
      assert.deepEqual(missing, ['gone']);
    }));
});
