import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ObjectsWorld, podReading } from '../../test/support/objectsWorld.ts';
import { ConfigSourceAnnotation } from '../api/annotations.ts';
import type { Pod } from '../api/types.ts';

const Services = '/api/v1/services';
const Classes = '/apis/node.k8s.io/v1/runtimeclasses';

function putService(world: ObjectsWorld, namespace: string, name: string, clusterIP: string): void {
  const spec = { clusterIP, ports: [{ port: 80 }] };
  world.server.store.put(Services, `${namespace}/${name}`, { metadata: { namespace, name, uid: name }, spec });
}

const staticPod: Pod = {
  metadata: { name: 's', namespace: 'ns', uid: 's', annotations: { [ConfigSourceAnnotation]: 'file' } },
  spec: { containers: [] },
};

describe('ServiceLister', () => {
  it('gives the variables of the services that a pod sees, as they are now', async () => {
    const world = new ObjectsWorld();
    putService(world, 'default', 'kubernetes', '10.0.0.1');
    putService(world, 'ns', 'web', '10.0.0.2');
    putService(world, 'ns', 'headless', 'None');
    putService(world, 'other', 'db', '10.0.0.3');
    const env = (pod: Pod) => world.after(world.objects.services.serviceEnv(pod));
    const pod = podReading('p', {});
    const seen = await env(pod);
    assert.equal(seen.get('KUBERNETES_SERVICE_HOST'), '10.0.0.1');
    assert.equal(seen.get('WEB_PORT'), 'tcp://10.0.0.2:80');
    assert.ok(![...seen.keys()].some((name) => /^(HEADLESS|DB)/.test(name)));
    const alone = await env({ ...pod, spec: { ...pod.spec, enableServiceLinks: false } });
    assert.ok([...alone.keys()].every((name) => name.startsWith('KUBERNETES_')));
    putService(world, 'ns', 'late', '10.0.0.4');
    await world.clock.advance(10);
    assert.equal((await env(pod)).get('LATE_SERVICE_HOST'), '10.0.0.4');
    assert.equal(world.server.requests.filter((r) => r.path === Services).length, 1);
    await world.stop();
  });

  it('lets no pod start without them, but for static ones', async () => {
    const world = new ObjectsWorld();
    world.server.stop();
    const began = world.clock.monotonic();
    assert.equal((await world.after(world.objects.services.serviceEnv(staticPod))).size, 0);
    assert.equal(world.clock.monotonic(), began);
    await assert.rejects(
      world.after(world.objects.services.serviceEnv(podReading('p', {}))),
      /^Error: services have not yet been read at least once, cannot construct envvars$/,
    );
    assert.equal(world.objects.health().ok, false);
    world.server.start();
    putService(world, 'default', 'kubernetes', '10.0.0.1');
    await world.clock.advance(30_000);
    assert.ok((await world.after(world.objects.services.serviceEnv(podReading('p', {})))).size > 0);
    // What is known stays while the server is away again.
    world.server.stop();
    await world.clock.advance(600_000);
    assert.ok((await world.after(world.objects.services.serviceEnv(podReading('p', {})))).size > 0);
    await world.stop();
  });
});

describe('RuntimeClasses', () => {
  const handler = (world: ObjectsWorld, name?: string) => world.after(world.objects.runtimeClasses.handlerOf(name));

  it('asks for none until a pod names one, then once', async () => {
    const world = new ObjectsWorld();
    world.server.store.put(Classes, 'gvisor', { metadata: { name: 'gvisor', uid: 'g' }, handler: 'runsc' });
    const asked = () => world.server.requests.filter((r) => r.path === Classes).length;
    assert.equal(await handler(world), '');
    assert.equal(await handler(world, ''), '');
    assert.equal(asked(), 0);
    assert.equal(await handler(world, 'gvisor'), 'runsc');
    await assert.rejects(handler(world, 'kata'), /^Error: failed to lookup RuntimeClass kata: .*"kata" not found$/);
    world.server.store.put(Classes, 'kata', { metadata: { name: 'kata', uid: 'k' }, handler: 'kata-qemu' });
    await world.clock.advance(10);
    assert.equal(await handler(world, 'kata'), 'kata-qemu');
    assert.equal(asked(), 1);
    world.server.stop();
    await world.clock.advance(60_000);
    assert.equal(await handler(world, 'gvisor'), 'runsc');
    await world.stop();
  });

  it('says so when they are not known', async () => {
    const world = new ObjectsWorld();
    world.server.stop();
    await assert.rejects(
      handler(world, 'gvisor'),
      /failed to lookup RuntimeClass gvisor: RuntimeClasses are not known yet: .*ECONNREFUSED/,
    );
    await world.stop();
  });
});
