import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Container, ContainerStatus, Image } from '../cri/types.ts';
import { silentLogger } from '../observe/log.ts';
import { evictionOrder, formatSize, type ImageGcPolicy, type ImageRecord, shortage } from './image-eviction.ts';
import { ImageGc } from './image-gc.ts';

const policy: ImageGcPolicy = { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 };
const minute = 60_000;

describe('which images go', () => {
  const record = (id: string, over: Partial<ImageRecord> = {}): ImageRecord => {
    return { id, firstDetected: 0, lastUsed: 0, size: 1, pinned: false, runtimeHandler: undefined, ...over };
  };
  it('longest unused first, then longest known; never one in use or pinned', () => {
    const all = [
      record('used-late', { lastUsed: 9 }),
      record('never', { lastUsed: Number.NEGATIVE_INFINITY, firstDetected: 5 }),
      record('never-old', { lastUsed: Number.NEGATIVE_INFINITY, firstDetected: 1 }),
      record('used-early', { lastUsed: 3 }),
      record('pinned', { pinned: true }),
      record('in-use'),
    ];
    assert.deepEqual(
      evictionOrder(all, new Set(['in-use'])).map((i) => i.id),
      ['never-old', 'never', 'used-early', 'used-late'],
    );
  });
  it('nothing below the threshold; at it, down to the lower one', () => {
    assert.equal(shortage(1000, 160, policy), undefined);
    assert.deepEqual(shortage(1000, 150, policy), { usedPercent: 85, toFree: 50 });
    assert.deepEqual(shortage(1000, 0, policy), { usedPercent: 100, toFree: 200 });
    assert.equal(shortage(1000, 2000, policy), undefined, 'more available than there is');
  });
  it('sizes are shown in binary units', () => {
    assert.deepEqual([0, 1023, 1024, 1536 * 1024, 3 * 2 ** 40, 5000 * 2 ** 40].map(formatSize), [
      '0 B',
      '1023 B',
      '1.0 KiB',
      '1.5 MiB',
      '3.0 TiB',
      '5000.0 TiB',
    ]);
  });
});

describe('image GC', () => {
  let clock: SimClock;
  let images: Map<string, Image>;
  let containers: Map<string, { image: string; mounts?: string[] }>;
  let disk: { capacity: number; available: number };
  let refuse: Set<string>;
  let removed: string[];
  let counted: string[];
  let events: string[];
  let listFails: boolean;
  const signal = new AbortController().signal;

  beforeEach(() => {
    clock = new SimClock();
    images = new Map();
    containers = new Map();
    disk = { capacity: 1000, available: 500 };
    refuse = new Set();
    [removed, counted, events] = [[], [], []];
    listFails = false;
  });

  const add = (id: string, size = 100, over: Partial<Image> = {}) =>
    images.set(id, { id, repoTags: [`${id}:tag`], repoDigests: [], size, username: '', pinned: false, ...over });

  function gc(over: Partial<ImageGcPolicy> = {}) {
    return new ImageGc({
      images: {
        listImages: async () => (listFails ? Promise.reject(new Error('away')) : [...images.values()]),
        removeImage: async ({ image }) => {
          if (refuse.has(image)) throw new Error(`${image} is busy`);
          disk.available += images.get(image)?.size ?? 0;
          images.delete(image);
        },
        imageFsInfo: async () => [{ timestamp: 0n, mountpoint: '/images', usedBytes: 0, inodesUsed: 0 }],
      },
      runtime: {
        listContainers: async () => [...containers].map(([id, c]) => ({ id, imageId: c.image, imageRef: c.image }) as Container),
        containerStatus: async (id) =>
          ({ mounts: (containers.get(id)?.mounts ?? []).map((image) => ({ image: { image } })) }) as unknown as ContainerStatus,
      },
      disk: async () => ({ ...disk }),
      policy: { ...policy, ...over },
      collected: (reason) => counted.push(reason),
      removed: (id) => removed.push(id),
      clock,
      log: silentLogger,
      events: { event: (o, type, reason, message) => void events.push(`${o.kind} ${type} ${reason} ${message}`) },
      node: { kind: 'Node', namespace: '', name: 'n', uid: 'n' },
    });
  }

  it('frees down to the lower threshold, oldest use first, and leaves what is used, pinned or young', async () => {
    const collector = gc();
    for (const id of ['a', 'b', 'c', 'used', 'mounted']) add(id);
    add('pinned', 100, { pinned: true });
    containers.set('1', { image: 'b' });
    await collector.collect(signal);
    containers.clear();
    containers.set('2', { image: 'used', mounts: ['mounted:tag'] });
    await clock.advance(3 * minute);
    add('young');
    disk.available = 0;
    await collector.collect(signal);
    assert.deepEqual(removed, ['a', 'c'], 'used longest ago first, and no more than needed');
    assert.deepEqual([...images.keys()].sort(), ['b', 'mounted', 'pinned', 'used', 'young']);
    assert.deepEqual(counted, ['space', 'space']);
  });

  it('says so when that was not enough', async () => {
    const collector = gc();
    add('a', 50);
    add('used', 900);
    containers.set('1', { image: 'used' });
    await collector.collect(signal);
    await clock.advance(3 * minute);
    disk.available = 50;
    await assert.rejects(collector.collect(signal), /freed 50 bytes/);
    assert.match(
      events[0] ?? '',
      /^Node Warning FreeDiskSpaceFailed Insufficient free disk space on the node's image filesystem \(95% of 1000 B used\)\. .*\(freed 50 bytes\)/,
    );
  });

  it('a disk of no size is an event and an error', async () => {
    disk.capacity = 0;
    await assert.rejects(gc().collect(signal), /invalid capacity 0/);
    assert.deepEqual(events, ['Node Warning InvalidDiskCapacity invalid capacity 0 on image filesystem']);
  });

  it('tries the others when one cannot be removed, and reports it', async () => {
    const collector = gc();
    add('a');
    add('b');
    await collector.collect(signal);
    await clock.advance(3 * minute);
    refuse.add('a');
    disk.available = 150;
    await assert.rejects(
      collector.collect(signal),
      /wanted to free 50 bytes, but freed 100 bytes space with errors in image deletion: a is busy/,
    );
    assert.deepEqual(removed, ['b']);
  });

  it('by age: unused for longer than the maximum, once the agent itself is older', async () => {
    const collector = gc({ maxAgeMs: 10 * minute });
    add('a');
    add('used');
    containers.set('1', { image: 'used' });
    await collector.collect(signal);
    await clock.advance(10 * minute);
    await collector.collect(signal);
    assert.deepEqual(removed, []);
    await clock.advance(1);
    await collector.collect(signal);
    assert.deepEqual([removed, counted], [['a'], ['age']]);
    containers.clear();
    await clock.advance(10 * minute);
    await collector.collect(signal);
    assert.deepEqual(removed, ['a']);
    await clock.advance(1);
    await collector.collect(signal);
    assert.deepEqual(removed, ['a', 'used']);
  });

  it('removes all that is unused when asked to, but not what is young', async () => {
    const collector = gc();
    add('a');
    await collector.removeUnused(signal);
    assert.deepEqual(removed, []);
    await clock.advance(2 * minute);
    add('young');
    await collector.removeUnused(signal);
    assert.deepEqual(removed, ['a']);
  });

  it('runs every five minutes; the first failure in a row is silent, the second an event', async () => {
    const stop = new AbortController();
    listFails = true;
    const service = gc();
    service.start(stop.signal);
    await clock.advance(1);
    assert.deepEqual(events, []);
    await clock.advance(5 * minute);
    assert.deepEqual(events, ['Node Warning ImageGCFailed away']);
    listFails = false;
    await clock.advance(5 * minute);
    listFails = true;
    await clock.advance(5 * minute);
    assert.equal(events.length, 1, 'the row was broken');
    stop.abort();
    await service.stop();
  });

  it('switched off it removes nothing, but keeps count of use', async () => {
    const stop = new AbortController();
    disk.available = 0;
    add('a');
    const service = gc({ highPercent: 100 });
    service.start(stop.signal);
    await clock.advance(11 * minute);
    assert.deepEqual([removed, events], [[], []]);
    await service.removeUnused(signal);
    assert.deepEqual(removed, ['a'], 'detected at the start, so old enough');
    stop.abort();
    await service.stop();
  });
});
