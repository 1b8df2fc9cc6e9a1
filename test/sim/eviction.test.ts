import assert from 'node:assert/strict';
import test from 'node:test';
import type { Volume } from '../../src/api/types.ts';
import { EvictionWorld, Mi } from './eviction-world.ts';

const Second = 1_000;
const Minute = 60 * Second;
const Hour = 60 * Minute;
const hard = { hard: { 'memory.available': '100Mi' } };
const request = (memory: string) => ({ containers: [{ name: 'c', image: 'i', resources: { requests: { memory } } }] });
const volume = (sizeLimit?: string) => ({ volumes: [{ name: 'v', emptyDir: sizeLimit === undefined ? {} : { sizeLimit } }] as Volume[] });

test('one pod at a time, the worst first, and the next only after the one before is gone', async () => {
  const world = new EvictionWorld({ thresholds: hard });
  world.add('guaranteed', { memory: 300 * Mi }, request('300Mi'));
  world.add('burstable', { memory: 200 * Mi }, request('100Mi'));
  world.add('besteffort', { memory: 300 * Mi });
  world.add('static', { memory: 150 * Mi }, {}, { 'kubernetes.io/config.source': 'file' });
  world.cleanUpMs = 4_000;
  await world.pass(Minute);
  assert.deepEqual(world.story, ['0: pressures [MemoryPressure]', '0: besteffort Evicted grace 1 disruption']);
  world.base.memory = 560 * Mi;
  await world.pass(Minute);
  assert.deepEqual(world.story.slice(2), ['64: burstable Evicted grace 1 disruption', '68: guaranteed Evicted grace 1 disruption']);
  assert.deepEqual([...world.pods.keys()], ['static']);
  assert.deepEqual(world.counted, ['memory.available', 'memory.available', 'memory.available']);
  await world.end();
});

test('a pod that leaves its memory behind costs half a minute, then the next one goes', async () => {
  const world = new EvictionWorld({ thresholds: hard });
  world.add('first', { memory: 950 * Mi });
  world.add('second', { memory: 10 * Mi });
  world.cleanUpMs = 10 * Hour;
  await world.pass(2 * Minute);
  assert.deepEqual(world.story.slice(1), ['0: first Evicted grace 1 disruption', '30: second Evicted grace 1 disruption']);
  await world.end();
});

test('the pressure stays for the transition period after the memory came back, hours long', async () => {
  const world = new EvictionWorld({ thresholds: hard, policy: { transitionMs: 2 * Hour } });
  world.add('hog', { memory: 950 * Mi });
  await world.pass(2 * Hour - Minute);
  assert.deepEqual(world.pressures.list(), ['MemoryPressure']);
  await world.pass(2 * Minute);
  assert.deepEqual(world.pressures.list(), []);
  await world.end();
});

test('memory that swings around the threshold every minute for three hours makes one pressure, not hundreds', async () => {
  const world = new EvictionWorld({ thresholds: { soft: { 'memory.available': '100Mi' }, softGrace: { 'memory.available': '2m' } } });
  world.add('pod', { memory: 10 * Mi });
  for (let minute = 0; minute < 180; minute++) {
    world.base.memory = minute % 2 === 0 ? 950 * Mi : 100 * Mi;
    await world.pass(Minute);
  }
  assert.deepEqual(world.story, ['0: pressures [MemoryPressure]'], 'and nobody goes, as no dip is as long as the grace');
  world.base.memory = 100 * Mi;
  await world.pass(6 * Minute);
  assert.deepEqual(world.story.length, 2);
  assert.deepEqual(world.pressures.list(), []);
  await world.end();
});

test('a soft threshold waits for its grace, and the pod gets its own, as far as the node allows', async () => {
  const world = new EvictionWorld({
    thresholds: { soft: { 'memory.available': '300Mi' }, softGrace: { 'memory.available': '1h' } },
    policy: { maxPodGraceSeconds: 90 },
  });
  world.add('pod', { memory: 800 * Mi }, { terminationGracePeriodSeconds: 45 });
  await world.pass(Hour - 20 * Second);
  assert.deepEqual(world.story, ['0: pressures [MemoryPressure]']);
  await world.pass(Minute);
  assert.deepEqual(world.story.slice(1), ['3600: pod Evicted grace 45 disruption']);
  await world.end();
});

test('pods go until the minimum reclaim is won, not only until the threshold is left', async () => {
  const evicted = async (minReclaim: Record<string, string>) => {
    const world = new EvictionWorld({ thresholds: { ...hard, minReclaim } });
    for (const name of ['a', 'b', 'c']) world.add(name, { memory: 310 * Mi });
    await world.pass(Minute);
    await world.end();
    return world.counted.length;
  };
  assert.equal(await evicted({}), 1);
  assert.equal(await evicted({ 'memory.available': '400Mi' }), 2);
});

test('the disk: what no pod needs goes first, and where that is enough no pod goes', async () => {
  const world = new EvictionWorld({ thresholds: { hard: { 'nodefs.available': '10%' } } });
  world.add('pod', { volume: 300 * Mi }, volume());
  world.unusedImages = 700 * Mi;
  await world.pass(Minute);
  assert.deepEqual(world.story, ['0: pressures [DiskPressure]', '0: dead containers removed', '0: unused images removed']);
  world.base.disk = 650 * Mi;
  await world.pass(Minute);
  assert.equal(world.story.at(-1), '70: pod Evicted grace 1 disruption');
  assert.deepEqual(world.events.map(({ reason, message }) => `${reason}: ${message}`).slice(0, 3), [
    'EvictionThresholdMet: Attempting to reclaim ephemeral-storage',
    'EvictionThresholdMet: Attempting to reclaim ephemeral-storage',
    'Evicted: The node was low on resource: ephemeral-storage. Threshold quantity: 104857601, available: 50Mi. ',
  ]);
  await world.end();
});

test('with the images on a disk of their own, a full node disk costs no image', async () => {
  const world = new EvictionWorld({ thresholds: { hard: { 'nodefs.available': '10%' } }, disks: { imageFs: true, splitImageFs: false } });
  world.add('pod', { volume: 950 * Mi }, volume());
  await world.pass(Minute);
  assert.deepEqual(world.story, ['0: pressures [DiskPressure]', '0: pod Evicted grace 1 disruption']);
  await world.end();
});

test('pods above their own limits of the disk go all at once, without any pressure', async () => {
  const world = new EvictionWorld({ thresholds: hard });
  world.add('over', { volume: 20 * Mi }, volume('10Mi'));
  world.add('over-too', { volume: 20 * Mi }, volume('15Mi'));
  world.add('within', { volume: 20 * Mi }, volume('20Mi'));
  await world.pass(Minute);
  assert.deepEqual(world.story, ['0: over Evicted grace 1', '0: over-too Evicted grace 1']);
  assert.deepEqual(world.counted, ['emptydirfs.limit', 'emptydirfs.limit']);
  await world.end();
});

test('processes: the pod with the most of them, of the lowest priority', async () => {
  const world = new EvictionWorld({ thresholds: { hard: { 'pid.available': '100' } } });
  world.add('important', { processes: 500 }, { priority: 10 });
  world.add('bomb', { processes: 300 });
  world.add('quiet', { processes: 120 });
  await world.pass(Minute);
  assert.deepEqual(world.story, ['0: pressures [PIDPressure]', '0: bomb Evicted grace 1 disruption']);
  await world.end();
});

test('a runtime that is down for an hour evicts nobody and is told by the health; after it all goes on', async () => {
  const world = new EvictionWorld({ thresholds: hard });
  world.add('hog', { memory: 950 * Mi });
  world.isMeasurable = false;
  await world.pass(Hour);
  assert.deepEqual(world.story, []);
  assert.deepEqual(world.manager.health(), { ok: false, reason: 'the node cannot be measured: the runtime is down' });
  world.isMeasurable = true;
  await world.pass(20 * Second);
  assert.equal(world.story.length, 2);
  assert.deepEqual(world.manager.health(), { ok: true });
  await world.end();
});

test('a look that is asked for comes at once; without it every ten seconds', async () => {
  const world = new EvictionWorld({ thresholds: hard });
  await world.pass(Minute + Second);
  const before = world.looks;
  assert.equal(before, 7);
  world.manager.poke();
  await world.pass(10);
  assert.equal(world.looks, before + 1);
  await world.end();
});

test('pods are measured only where one has a limit, or when something runs short', async () => {
  const world = new EvictionWorld({ thresholds: hard });
  world.add('plain', { memory: 10 * Mi }, volume());
  await world.pass(Hour);
  assert.equal(world.measuredPods, 0);
  world.add('limited', { memory: 10 * Mi }, volume('1Gi'));
  await world.pass(Minute);
  assert.equal(world.measuredPods, 6);
  await world.end();
});

test('without thresholds and limits nobody looks at all', async () => {
  const world = new EvictionWorld({ policy: { localStorage: false } });
  await world.manager.ready();
  await world.pass(Hour);
  assert.equal(world.looks, 0);
  await world.end();
});
