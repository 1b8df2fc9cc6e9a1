import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { nodeAllocatableOf, nodeCapacityOf, nodeIdentity, nodeInfo } from '../../test/support/node-facts.ts';
import { CriError } from '../cri/errors.ts';
import type { Image, RuntimeStatus } from '../cri/types.ts';
import { silentLogger } from '../observe/log.ts';
import { type NodeFactsDeps, NodeFactsReader } from './facts.ts';

const away = () => Promise.reject(new CriError('Unavailable', 'any', 'no connection'));
const version = async () => ({ version: '0.1.0', runtimeName: 'containerd', runtimeVersion: '1.6.20~ds1', runtimeApiVersion: 'v1' });
const image: Image = { id: 'i', repoTags: ['i:1'], repoDigests: [], size: 7, username: '', pinned: false };
const { signal } = new AbortController();

interface World {
  deps: NodeFactsDeps;
  clock: SimClock;
  listedAt: number | undefined;
  status: RuntimeStatus | undefined;
  faults: { answers: string[]; runtime: string[]; network: string[] };
}

function world(): World {
  const clock = new SimClock();
  const it: World = {
    clock,
    listedAt: 0,
    status: { conditions: [], runtimeHandlers: [{ name: 'runc' }, { name: '' }], features: { supplementalGroupsPolicy: true } },
    faults: { answers: [], runtime: [], network: [] },
    deps: {
      identity: nodeIdentity(),
      clock,
      log: silentLogger,
      runtime: { version },
      images: { listImages: async () => [image] },
      runtimeState: { faults: () => it.faults, status: () => it.status },
      relist: { listedAt: () => it.listedAt },
      runtimeName: 'containerd',
      nodeInfo,
      capacity: nodeCapacityOf,
      allocatable: nodeAllocatableOf,
      localStorageCapacityIsolation: true,
      kubeletPort: 10250,
      maxImages: 50,
      declaredFeatures: ['A'],
      showGroupsPolicy: true,
      showHandlers: true,
      nodeIPs: ['::'],
      addresses: async () => ['10.0.0.1'],
    },
  };
  return it;
}

test('what keeps a node from being Ready is told from the bottom up', async () => {
  const it = world();
  const reader = new NodeFactsReader({ ...it.deps, otherFaults: () => ['node is shutting down'] });
  it.faults = { answers: ['a'], runtime: ['b'], network: ['c'] };
  it.listedAt = undefined;
  assert.deepEqual(reader.notReady(), ['a', 'PLEG is not healthy: pleg has yet to be successful', 'b', 'c', 'node is shutting down']);
  it.listedAt = 0;
  await it.clock.advance(180_000);
  assert.deepEqual(reader.notReady(), ['a', 'b', 'c', 'node is shutting down']);
  await it.clock.advance(5_500);
  assert.equal(reader.notReady()[1], 'PLEG is not healthy: pleg was last seen active 3m5.5s ago; threshold is 3m0s');
});

test('a runtime that does not answer has the version Unknown, and its images stay known', async () => {
  const it = world();
  const deps = { ...it.deps };
  const reader = new NodeFactsReader(deps);
  const first = await reader.facts(signal);
  assert.equal(first.nodeInfo.containerRuntimeVersion, 'containerd://1.6.20');
  assert.deepEqual(first.images, [{ names: ['i:1'], sizeBytes: 7 }]);
  deps.runtime = { version: away };
  deps.images = { listImages: away };
  await it.clock.advance(60_000);
  const later = await reader.facts(signal);
  assert.equal(later.nodeInfo.containerRuntimeVersion, 'containerd://Unknown');
  assert.deepEqual(later.images, first.images);
  deps.runtime = { version };
  assert.equal((await reader.facts(signal)).nodeInfo.containerRuntimeVersion, 'containerd://1.6.20');
});

test('images that were never listed are not known', async () => {
  const it = world();
  const reader = new NodeFactsReader({ ...it.deps, images: { listImages: away } });
  assert.equal((await reader.facts(signal)).images, undefined);
});

test('images are listed again after half a minute, not at every status', async () => {
  const it = world();
  let lists = 0;
  const listImages = async () => {
    lists++;
    return [image];
  };
  const reader = new NodeFactsReader({ ...it.deps, images: { listImages } });
  for (let i = 0; i < 12; i++) {
    await reader.facts(signal);
    await it.clock.advance(5_000);
  }
  assert.equal(lists, 2);
});

test('an address that cannot be told is no address, and the status goes on', async () => {
  const it = world();
  const reader = new NodeFactsReader({ ...it.deps, addresses: () => Promise.reject(new Error('no interface has it')) });
  const facts = await reader.facts(signal);
  assert.deepEqual(facts.foundIPs, []);
  assert.deepEqual([facts.givenIPs, facts.nodeIPGiven], [[], true], 'an unspecified address only names a family');
});

test('handlers are sorted; handlers and features are hidden where the gates say so', async () => {
  const it = world();
  const facts = await new NodeFactsReader(it.deps).facts(signal);
  assert.deepEqual(
    facts.runtimeHandlers.map((h) => h.name),
    ['', 'runc'],
  );
  assert.deepEqual(facts.features, { supplementalGroupsPolicy: true });
  const hidden = await new NodeFactsReader({ ...it.deps, showHandlers: false, showGroupsPolicy: false }).facts(signal);
  assert.deepEqual([hidden.runtimeHandlers, hidden.features], [[], undefined]);
  it.status = undefined;
  assert.deepEqual((await new NodeFactsReader(it.deps).facts(signal)).runtimeHandlers, []);
});
