import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Quantity } from '../api/quantity.ts';
import type { Pod, PodSpec, Volume } from '../api/types.ts';
import { pressureCheck } from './admission.ts';
import { localStorageFault } from './local-storage.ts';
import { evictionMessage } from './messages.ts';
import type { Observations, Pressure } from './observations.ts';
import { localStorageEvictions, thresholdEviction } from './plan.ts';
import type { PodUsage } from './ranking.ts';
import { nodeReclaim } from './reclaim.ts';
import type { Signal, Threshold } from './thresholds.ts';

const oneDisk = { imageFs: false, splitImageFs: false };
const Mi = 1024 ** 2;

function pod(name: string, spec: Partial<PodSpec> = {}, source = 'api'): Pod {
  return {
    metadata: { name, namespace: 'ns', uid: name, annotations: { 'kubernetes.io/config.source': source } },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  };
}
const threshold = (signal: Signal, quantity: string, gracePeriod = 0n): Threshold => ({
  signal,
  operator: 'LessThan',
  value: { quantity: Quantity.parse(quantity) },
  gracePeriod,
});
const memory = threshold('memory.available', '100Mi');
const seen: Observations = new Map([['memory.available', { available: Quantity.parse('12Mi'), capacity: Quantity.parse('1Gi'), atMs: 0 }]]);
const uses = (bytes: number): PodUsage => ({
  memory: { workingSetBytes: bytes },
  containers: [{ name: 'c', memory: { workingSetBytes: bytes } }],
});

describe('evictionMessage', () => {
  it('names the resource, the threshold, and the containers above their request, as other programs read it', () => {
    const requests = pod('p', { containers: [{ name: 'c', image: 'i', resources: { requests: { memory: '10Mi' } } }] });
    assert.deepEqual(evictionMessage('memory', requests, uses(20 * Mi), [memory], seen), {
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 12Mi. ' +
        'Container c was using 20Mi, request is 10Mi, has larger consumption of memory. ',
      annotations: { starved_resource: 'memory', offending_containers: 'c', offending_containers_usage: '20Mi' },
    });
    const within = evictionMessage('memory', requests, uses(10 * Mi), [memory], seen);
    assert.equal(within.message, 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 12Mi. ');
  });

  it('names the pod where the pod itself has a request', () => {
    const own = pod('p', { resources: { requests: { memory: '5Mi' } } });
    const { message, annotations } = evictionMessage('memory', own, { memory: { workingSetBytes: 6 * Mi } }, [], seen);
    assert.equal(message, 'The node was low on resource: memory. Pod p was using 6Mi, request is 5Mi, has larger consumption of memory. ');
    assert.deepEqual([annotations['offending_pod'], annotations['offending_pod_usage']], ['p', '6Mi']);
  });

  it('counts layer and logs for the disk, names no container for inodes, and does without figures', () => {
    const usage: PodUsage = { containers: [{ name: 'c', rootfs: { usedBytes: 3 * Mi }, logs: { usedBytes: Mi } }] };
    const disk = evictionMessage('ephemeral-storage', pod('p'), usage, [], new Map());
    assert.equal(
      disk.message,
      'The node was low on resource: ephemeral-storage. Container c was using 4Mi, request is 0, has larger consumption of ephemeral-storage. ',
    );
    assert.equal(evictionMessage('inodes', pod('p'), usage, [], new Map()).message, 'The node was low on resource: inodes. ');
    assert.equal(evictionMessage('memory', pod('p'), undefined, [], new Map()).message, 'The node was low on resource: memory. ');
  });
});

describe('localStorageFault', () => {
  const volumes = [{ name: 'v', emptyDir: { sizeLimit: '5Mi' } }] as Volume[];
  const limited = (limit: string) => ({
    containers: [{ name: 'c', image: 'i', resources: { limits: { 'ephemeral-storage': limit } } }],
  });

  it('an emptyDir above its size; not one at it', () => {
    const volume = (usedBytes: number): PodUsage => ({ volume: [{ name: 'v', usedBytes }] });
    assert.deepEqual(localStorageFault(pod('p', { volumes }), volume(5 * Mi + 1), oneDisk), {
      signal: 'emptydirfs.limit',
      message: 'Usage of EmptyDir volume "v" exceeds the limit "5Mi". ',
    });
    assert.equal(localStorageFault(pod('p', { volumes }), volume(5 * Mi), oneDisk), undefined);
    const unlimited = [{ name: 'v', emptyDir: { sizeLimit: '0' } }] as Volume[];
    assert.equal(localStorageFault(pod('p', { volumes: unlimited }), volume(9 * Mi), oneDisk), undefined);
  });

  it('a pod above the sum of its containers, whatever it is that it holds', () => {
    const usage: PodUsage = { 'ephemeral-storage': { usedBytes: 10 * Mi + 1 } };
    assert.deepEqual(localStorageFault(pod('p', limited('10Mi')), usage, oneDisk), {
      signal: 'ephemeralpodfs.limit',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ',
    });
  });

  it('a container by its logs and its layer; the layer only where it lies on the node disk', () => {
    const usage: PodUsage = { containers: [{ name: 'c', logs: { usedBytes: 6 * Mi }, rootfs: { usedBytes: 6 * Mi } }] };
    assert.deepEqual(localStorageFault(pod('p', limited('10Mi')), usage, oneDisk), {
      signal: 'ephemeralcontainerfs.limit',
      message: 'Container c exceeded its local ephemeral storage limit "10Mi". ',
    });
    assert.equal(localStorageFault(pod('p', limited('10Mi')), usage, { imageFs: true }), undefined);
    assert.equal(localStorageFault(pod('p'), usage, oneDisk), undefined);
  });

  it('all of them go at once, critical ones and those without figures stay', () => {
    const usage: PodUsage = { 'ephemeral-storage': { usedBytes: 11 * Mi } };
    const pods = [
      pod('a', limited('10Mi')),
      pod('b', limited('10Mi')),
      pod('static', limited('10Mi'), 'file'),
      pod('unknown', limited('10Mi')),
    ];
    const found = localStorageEvictions({ pods, usageOf: (p) => (p.metadata.name === 'unknown' ? undefined : usage), disks: oneDisk });
    assert.deepEqual(
      found.map((e) => [e.pod.metadata.name, e.graceSeconds, e.isDisruption]),
      [
        ['a', 1, false],
        ['b', 1, false],
      ],
    );
  });
});

describe('thresholdEviction', () => {
  const pods = [
    pod('static', {}, 'file'),
    pod('small', { terminationGracePeriodSeconds: 5 }),
    pod('big', { terminationGracePeriodSeconds: 60 }),
  ];
  const usage: Record<string, PodUsage> = { static: uses(90 * Mi), small: uses(10 * Mi), big: uses(50 * Mi) };
  const plan = { pods, usageOf: (p: Pod) => usage[p.metadata.name], disks: oneDisk };
  it('takes the first by rank that is not critical, with the grace of the threshold', () => {
    const chosen = (gracePeriod: bigint, maxGrace: number) => {
      const eviction = thresholdEviction([threshold('memory.available', '100Mi', gracePeriod)], plan, seen, maxGrace);
      return [eviction?.pod.metadata.name, eviction?.graceSeconds, eviction?.signal, eviction?.isDisruption];
    };
    assert.deepEqual(chosen(0n, 30), ['big', 1, 'memory.available', true]);
    assert.deepEqual(chosen(1n, 30), ['big', 30, 'memory.available', true]);
    assert.deepEqual(chosen(1n, 90), ['big', 60, 'memory.available', true]);
  });
  it('spares all where all are critical', () => {
    assert.equal(thresholdEviction([memory], { ...plan, pods: pods.slice(0, 1) }, seen, 0), undefined);
  });
});

describe('nodeReclaim', () => {
  const both = ['dead containers', 'unused images'];
  const cases: readonly [Signal, { imageFs: boolean; splitImageFs: boolean }, string[]][] = [
    ['nodefs.available', oneDisk, both],
    ['imagefs.inodesFree', oneDisk, both],
    ['containerfs.available', oneDisk, both],
    ['nodefs.available', { imageFs: true, splitImageFs: false }, []],
    ['imagefs.available', { imageFs: true, splitImageFs: false }, both],
    ['containerfs.available', { imageFs: true, splitImageFs: false }, both],
    ['imagefs.available', { imageFs: true, splitImageFs: true }, ['unused images']],
    ['nodefs.inodesFree', { imageFs: true, splitImageFs: true }, ['dead containers']],
    ['containerfs.available', { imageFs: true, splitImageFs: true }, ['dead containers']],
    ['memory.available', oneDisk, []],
    ['pid.available', oneDisk, []],
  ];
  for (const [signal, disks, wanted] of cases) {
    it(`${signal}, images ${disks.imageFs ? 'apart' : 'on the node disk'}${disks.splitImageFs ? ', layers not' : ''}`, () =>
      assert.deepEqual(nodeReclaim(signal, disks), wanted));
  }
});

describe('pressureCheck', () => {
  const admit = (pressures: Pressure[], p: Pod) => pressureCheck(() => pressures).admit(p, [])?.message;
  const burstable = pod('p', { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] });
  const tolerating = (key: string) => pod('p', { tolerations: [{ key, operator: 'Exists' }] });
  const taint = 'node.kubernetes.io/memory-pressure';

  it('refuses with the conditions in the message', () => {
    assert.equal(admit(['DiskPressure'], burstable), 'The node had condition: [DiskPressure]. ');
    assert.equal(admit(['MemoryPressure', 'PIDPressure'], burstable), 'The node had condition: [MemoryPressure PIDPressure]. ');
    assert.equal(pressureCheck(() => ['DiskPressure']).admit(burstable, [])?.reason, 'Evicted');
  });
  it('memory alone keeps out only BestEffort pods that do not tolerate it', () => {
    assert.equal(admit(['MemoryPressure'], burstable), undefined);
    assert.equal(admit(['MemoryPressure'], pod('p')), 'The node had condition: [MemoryPressure]. ');
    assert.equal(admit(['MemoryPressure'], tolerating(taint)), undefined);
    assert.equal(admit(['MemoryPressure'], tolerating('node.kubernetes.io/disk-pressure')), 'The node had condition: [MemoryPressure]. ');
  });
  it('admits critical pods always, and everybody without pressure', () => {
    assert.equal(admit(['DiskPressure'], pod('p', { priority: 2_000_000_000 })), undefined);
    assert.equal(admit(['DiskPressure'], pod('p', {}, 'file')), undefined);
    assert.equal(admit([], pod('p')), undefined);
  });
});
