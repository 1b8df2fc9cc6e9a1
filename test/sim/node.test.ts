import assert from 'node:assert/strict';
import test from 'node:test';
import type { Node } from '../../src/kube/types.ts';
import { nodeIdentity } from '../support/node-facts.ts';
import { LeasesPath, NodesPath, NodeWorld } from './node-world.ts';

const StatusPath = `${NodesPath}/n1/status`;
const LeaseRequests = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

async function inWorld(work: (world: NodeWorld) => Promise<void>, world = new NodeWorld()): Promise<void> {
  try {
    await work(world);
  } finally {
    await world.stop();
  }
}

test('a node registers, is Ready and has its lease within half a second', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True', 500);
    await world.until('the lease', () => world.lease() !== undefined, 500);
    const uid = world.node()?.metadata.uid;
    assert.deepEqual(world.lease()?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid }]);
    assert.equal(world.lease()?.spec?.holderIdentity, 'n1');
    assert.equal(world.lease()?.spec?.leaseDurationSeconds, 40);
    assert.equal(world.woken, 1);
    assert.ok(
      world.events.every((e) => e.endsWith(' known')),
      String(world.events),
    );
    assert.deepEqual(world.events.filter((e) => e.startsWith('NodeHas')).length, 3);
  }));

test('a node at rest sends one lease in ten seconds and its status once in two and a half to seven and a half minutes, then five', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    const from = world.clock.monotonic() + 1_000;
    await world.clock.advance(1_800_000);
    const leases = world.requests('PUT', LeaseRequests, from) / 180;
    assert.ok(leases > 0.95 && leases <= 1, `${leases} renewals in ten seconds`);
    const times = world.server.requests.filter((r) => r.method === 'PATCH' && r.path === StatusPath && r.at >= from).map((r) => r.at);
    assert.ok(times[0] !== undefined && times[0] >= 148_000 && times[0] <= 462_000, `first report after ${times[0]} ms`);
    for (const [i, at] of times.entries()) {
      const gap = at - (times[i - 1] ?? at - 305_000);
      assert.ok(gap >= 300_000 && gap <= 311_000, `report ${i} after ${gap} ms`);
    }
    assert.equal(world.requests('GET', `${NodesPath}/`, from), 0, 'nothing is asked that the watch tells');
  }));

test('a runtime that goes away: NotReady after 30 s, Ready within a second of its return, each told once', () =>
  inWorld(async (world) => {
    const runtime = world.runtime;
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(20_000);
    world.runtime = undefined;
    const took = await world.until('NotReady', () => world.ready().status === 'False');
    assert.ok(took >= 25_000 && took <= 36_000, `NotReady after ${took} ms`);
    assert.equal(world.ready().message, 'container runtime is down');
    await world.clock.advance(60_000);
    world.runtime = runtime;
    assert.ok((await world.until('Ready again', () => world.ready().status === 'True')) <= 1_000);
    assert.equal(world.events.filter((e) => e.startsWith('NodeNotReady')).length, 1);
    assert.equal(world.events.filter((e) => e.startsWith('NodeReady')).length, 1);
  }));

test('a network that comes later is seen at once in the first two minutes', () =>
  inWorld(async (world) => {
    const runtime = world.runtime;
    world.runtime = {
      runtimeHandlers: [],
      conditions: [
        { type: 'RuntimeReady', status: true, reason: '', message: '' },
        { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' },
      ],
    };
    await world.start();
    await world.until('a node', () => world.ready().status === 'False');
    await world.until('its reason', () => world.ready().message?.includes('network not ready') === true, 11_000);
    assert.equal(
      world.ready().message,
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized',
    );
    const patches = world.requests('PATCH', StatusPath);
    await world.clock.advance(5_000);
    assert.ok(world.requests('PATCH', StatusPath) - patches <= 1, 'waiting costs no writes');
    world.runtime = runtime;
    assert.ok((await world.until('Ready', () => world.ready().status === 'True')) <= 300);
  }));

test('pressure is shown with the next round and told', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(15_000);
    world.pressure = true;
    const pressure = () => world.node()?.status?.conditions?.find((c) => c.type === 'MemoryPressure')?.status;
    assert.ok((await world.until('pressure', () => pressure() === 'True')) <= 10_500);
    assert.ok(world.events.includes('NodeHasInsufficientMemory known'));
  }));

test('an API server away at the start: the node is there as soon as it comes, without a storm before', () =>
  inWorld(async (world) => {
    let tries = 0;
    world.server.faults.push(() => {
      if (world.clock.monotonic() > 600_000) return undefined;
      tries++;
      return { cut: true };
    });
    await world.start();
    await world.clock.advance(600_000);
    assert.ok(tries > 100 && tries < 600, `${tries} requests in ten minutes`);
    assert.ok((await world.until('registered', () => world.node() !== undefined)) <= 7_100);
    let known = false;
    void world.watch.known(new AbortController().signal).then(() => {
      known = true;
    });
    await world.until('pods may be admitted', () => known, 100);
    await world.until('Ready', () => world.ready().status === 'True', 1_000);
    await world.until('the lease', () => world.lease() !== undefined, 15_000);
  }));

test('an API server away for ten minutes later: nothing ends, the lease and status are there when it is back', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(30_000);
    world.server.stop();
    world.pressure = true;
    await world.clock.advance(600_000);
    assert.ok(world.reconnects > 0);
    world.server.start();
    assert.ok(
      (await world.until('a renewed lease', () => Date.parse(world.lease()?.spec?.renewTime ?? '') > world.clock.now() - 1_000)) <= 7_100,
    );
    await world.until(
      'pressure',
      () => world.node()?.status?.conditions?.some((c) => c.type === 'MemoryPressure' && c.status === 'True') === true,
      11_000,
    );
    // The watch tries again at most every 30 s.
    await world.clock.advance(31_000);
    assert.deepEqual(
      world.services.filter((s) => !s.health().ok).map((s) => s.name),
      [],
    );
  }));

test('a node that exists: its labels and taints stay, a new boot is told, what is ours is put right', () =>
  inWorld(async (world) => {
    world.put({
      metadata: { name: 'n1', uid: 'before', labels: { team: 'x' } },
      spec: { taints: [{ key: 'mine', effect: 'NoSchedule' }] },
      status: { nodeInfo: { bootID: 'boot-0' } as NonNullable<Node['status']>['nodeInfo'] & object },
    });
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True', 1_000);
    const node = world.node();
    assert.equal(node?.metadata.uid, 'before');
    assert.equal(node?.metadata.labels?.['team'], 'x');
    assert.equal(node?.metadata.labels?.['kubernetes.io/hostname'], 'n1');
    assert.deepEqual(node?.spec?.taints, [{ key: 'mine', effect: 'NoSchedule' }]);
    await world.clock.advance(60_000);
    assert.equal(world.events.filter((e) => e.startsWith('Rebooted')).length, 1);
  }));

test('a restart does not make a Ready node NotReady, not even for a moment', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(30_000);
    const before = world.node() ?? assert.fail('no node');
    await world.stop();
    await inWorld(async (next) => {
      next.put(before);
      // The runtime is slow to answer the first question.
      const answer = next.runtime;
      next.runtime = undefined;
      next.clock.after(3_000, () => {
        next.runtime = answer;
      });
      await next.start();
      await next.clock.advance(60_000);
      const ready = (node: typeof before) => node.status?.conditions?.find((c) => c.type === 'Ready');
      assert.equal(ready(next.node() ?? before)?.lastTransitionTime, ready(before)?.lastTransitionTime);
      assert.deepEqual(
        next.events.filter((e) => /^Node(Not)?Ready/.test(e)),
        [],
      );
    });
  }));

test('who may not create nodes uses the one that is there; without it registration goes on at most every 7 s', () =>
  inWorld(async (world) => {
    world.server.faults.push((r) => (r.method === 'POST' && r.path === NodesPath ? { status: 403, reason: 'Forbidden' } : undefined));
    await world.start();
    await world.clock.advance(120_000);
    const tries = world.requests('POST', NodesPath);
    assert.ok(tries >= 18 && tries <= 26, `${tries} tries in two minutes`);
    world.put({ metadata: { name: 'n1', uid: 'made' } });
    assert.ok((await world.until('Ready', () => world.ready().status === 'True')) <= 7_100);
  }));

test('registerNode false waits for a node that somebody else makes', () =>
  inWorld(
    async (world) => {
      await world.start();
      await world.clock.advance(60_000);
      assert.equal(world.requests('POST', NodesPath), 0);
      assert.equal(world.lease(), undefined);
      world.put({ metadata: { name: 'n1', uid: 'made' } });
      assert.ok((await world.until('Ready', () => world.ready().status === 'True')) <= 10_500);
      await world.until('the lease', () => world.lease() !== undefined, 10_500);
    },
    new NodeWorld({ registerNode: false }),
  ));

test('the address ranges of pods are told to the runtime when they come, once', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    world.put({ ...(world.node() as Node), spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24', 'fd00::/64'] } });
    assert.ok((await world.until('told', () => world.cidrs.length > 0)) <= 1_000);
    await world.clock.advance(60_000);
    assert.deepEqual(world.cidrs, ['10.1.0.0/24,fd00::/64']);
  }));

test('cordon and uncordon are told; labels taken away come back', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(1_000);
    const node = world.node() as Node;
    const { 'kubernetes.io/os': _os, ...labels } = node.metadata.labels ?? {};
    world.put({ ...node, metadata: { ...node.metadata, labels }, spec: { unschedulable: true } });
    await world.until('told', () => world.events.includes('NodeNotSchedulable known'), 1_000);
    await world.until('the label', () => world.node()?.metadata.labels?.['kubernetes.io/os'] === 'linux', 11_000);
    world.put({ ...(world.node() as Node), spec: {} });
    await world.until('told', () => world.events.includes('NodeSchedulable known'), 1_000);
  }));

test('a write that meets another node of the name, or an older one, is done again from what is there', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(1_000);
    // The watch does not bring it: only the write finds out.
    for (const watch of world.server.watches(NodesPath)) watch.cut();
    world.server.faults.push((r) => (r.query.get('watch') === 'true' && world.clock.monotonic() < 60_000 ? { hang: true } : undefined));
    world.put({ metadata: { name: 'n1', uid: 'other' } });
    world.pressure = true;
    await world.until('Ready', () => world.ready().status === 'True', 11_000);
    assert.equal(world.node()?.metadata.uid, 'other');
  }));

test('a node that is deleted stays away, at the cost of one question each round', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('Ready', () => world.ready().status === 'True');
    await world.clock.advance(1_000);
    const from = world.clock.monotonic();
    world.server.store.remove(NodesPath, 'n1');
    await world.clock.advance(100_000);
    assert.equal(world.node(), undefined);
    const asked = world.requests('GET', `${NodesPath}/n1`, from);
    assert.ok(asked >= 8 && asked <= 11, `${asked} questions in ten rounds`);
    assert.equal(world.watch.liveUid(), undefined);
  }));

test('a lease that others write, delete or hold up is taken up again', () =>
  inWorld(async (world) => {
    await world.start();
    await world.until('the lease', () => world.lease() !== undefined);
    await world.clock.advance(1_000);
    const lease = world.lease() ?? assert.fail('no lease');
    const key = 'kube-node-lease/n1';
    world.server.store.put(LeasesPath, key, {
      ...JSON.parse(JSON.stringify(lease)),
      spec: { ...lease.spec, holderIdentity: 'who', leaseDurationSeconds: 1 },
    });
    await world.clock.advance(11_000);
    assert.equal(world.lease()?.spec?.leaseDurationSeconds, 40, 'of the configuration, whoever wrote another');
    assert.equal(world.lease()?.spec?.holderIdentity, 'who');
    world.server.store.remove(LeasesPath, key);
    await world.until('a new lease', () => world.lease()?.spec?.holderIdentity === 'n1', 11_000);
    let hung = 0;
    world.server.faults.push((r) => (r.path.startsWith(LeaseRequests) && hung++ < 2 ? { hang: true } : undefined));
    const from = world.clock.now();
    await world.until('renewed after two that hung', () => Date.parse(world.lease()?.spec?.renewTime ?? '') > from + 20_000, 45_000);
    assert.ok(world.reconnects >= 1);
  }));

test('an identity of an external cloud', () =>
  inWorld(
    async (world) => {
      await world.start();
      await world.until('Ready', () => world.ready().status === 'True');
      assert.equal(world.node()?.spec?.taints?.[0]?.key, 'node.cloudprovider.kubernetes.io/uninitialized');
      assert.deepEqual(world.node()?.spec?.providerID, 'x://1');
    },
    new NodeWorld({ identity: nodeIdentity({ cloudExternal: true, providerID: 'x://1' }) }),
  ));
