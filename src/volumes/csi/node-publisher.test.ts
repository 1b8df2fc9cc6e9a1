import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../../test/sim/clock.ts';
import type { KubeApi, KubeCall } from '../../kube/api.ts';
import { KubeError } from '../../kube/errors.ts';
import type { CSINode, Node } from '../../kube/types.ts';
import { silentLogger } from '../../observe/log.ts';
import { newCsiNode } from './csi-node.ts';
import { CsiNodePublisher } from './node-publisher.ts';

/** A Node and a CSINode, and a server that fails as often as it is told. */
class World {
  readonly clock = new SimClock();
  readonly calls: string[] = [];
  node: Node | undefined = { metadata: { name: 'n', uid: 'u1' } };
  csiNode: CSINode | undefined;
  conflicts = 0;
  initialized = 0;
  readonly publisher = new CsiNodePublisher({
    api: { request: (call) => this.#answer(call), stream: () => Promise.reject(new Error('no watch')) } as KubeApi,
    nodeName: 'n',
    clock: this.clock,
    log: silentLogger,
    initialized: () => void this.initialized++,
  });

  /** What comes of `work` when time goes on. */
  async after<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => {},
      () => {},
    );
    await this.clock.advance(10_000);
    await settled;
    return work;
  }

  #answer<T>({ method, path, body }: KubeCall): Promise<T> {
    const isNode = path.startsWith('/api/v1/nodes/n');
    this.calls.push(`${method} ${isNode ? 'node' : 'csinode'}`);
    const current = isNode ? this.node : this.csiNode;
    if (method === 'POST') {
      this.csiNode = body as CSINode;
      return Promise.resolve(body as T);
    }
    if (current === undefined) return Promise.reject(new KubeError('NotFound', path, 'not found'));
    if (method !== 'GET' && this.conflicts-- > 0) return Promise.reject(new KubeError('Conflict', path, 'the object has been modified'));
    if (method === 'DELETE') this.csiNode = undefined;
    if (method === 'PUT') this.csiNode = body as CSINode;
    if (method === 'PATCH') {
      const { metadata } = body as { metadata: { annotations?: Record<string, string | null>; labels: Record<string, string> } };
      const annotations = Object.entries({ ...current.metadata.annotations, ...metadata.annotations }).filter(([, v]) => v !== null);
      const labels = { ...current.metadata.labels, ...metadata.labels };
      this.node = { metadata: { ...current.metadata, labels, annotations: Object.fromEntries(annotations) as Record<string, string> } };
    }
    return Promise.resolve((isNode ? this.node : this.csiNode) as T);
  }
}

const info = { nodeId: 'id', maxVolumes: 3, topology: { zone: 'z' } };

describe('what the cluster is told of CSI drivers', () => {
  it('begins with a CSINode, as soon as there is a Node; until then the node is not ready', async () => {
    const world = new World();
    world.node = undefined;
    const stop = new AbortController();
    world.publisher.start(stop.signal);
    assert.equal(world.publisher.fault(), undefined, 'nothing is known yet');
    await world.clock.advance(60_000);
    assert.match(world.publisher.fault() ?? '', /^failed to initialize CSINode: /);
    world.node = { metadata: { name: 'n', uid: 'u1' } };
    world.publisher.nodeKnown();
    await world.clock.advance(1);
    assert.equal(world.publisher.fault(), undefined);
    assert.deepEqual([world.initialized, world.csiNode?.metadata.ownerReferences?.[0]?.uid], [1, 'u1']);
    stop.abort();
    await world.publisher.stop();
  });

  it('is taken from another node of the name', async () => {
    const world = new World();
    world.csiNode = newCsiNode('n', 'older');
    await world.after(world.publisher.install('d', info));
    assert.equal(world.csiNode.metadata.ownerReferences?.[0]?.uid, 'u1');
    assert.ok(world.calls.includes('DELETE csinode'));
  });

  it('is entered and taken out, also while others write', async () => {
    const world = new World();
    world.conflicts = 2;
    await world.after(world.publisher.install('d', info));
    assert.deepEqual(world.csiNode?.spec.drivers, [{ name: 'd', nodeID: 'id', topologyKeys: ['zone'], allocatable: { count: 3 } }]);
    assert.deepEqual(world.node?.metadata.annotations, { 'csi.volume.kubernetes.io/nodeid': '{"d":"id"}' });
    assert.deepEqual(world.node?.metadata.labels, { zone: 'z' });
    const writes = world.calls.length;
    await world.after(world.publisher.install('d', info));
    assert.deepEqual(
      world.calls.slice(writes).filter((call) => !call.startsWith('GET')),
      [],
    );
    await world.after(world.publisher.uninstall('d'));
    assert.deepEqual([world.csiNode?.spec.drivers, world.node?.metadata.annotations], [[], {}]);
    assert.deepEqual(world.node?.metadata.labels, { zone: 'z' });
  });

  it('is refused after a few tries, and for an answer that cannot be used', async () => {
    const world = new World();
    world.conflicts = 100;
    await assert.rejects(
      world.after(world.publisher.install('d', info)),
      /error updating Node object with CSI driver node info: .*has been modified/,
    );
    assert.equal(world.calls.filter((call) => call === 'PATCH node').length, 4);
    await assert.rejects(world.publisher.install('d', { ...info, nodeId: '' }), /driverNodeID must not be empty/);
  });
});
