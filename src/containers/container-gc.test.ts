import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nanos, record } from '../../test/support/status-fixtures.ts';
import { podUid } from '../api/brands.ts';
import type { Container, ContainerState, PodSandbox } from '../cri/types.ts';
import {
  containerIdOfLogLink,
  containersToRemove,
  deadContainersOfPod,
  defaultContainerGcPolicy,
  evictableContainers,
  sandboxesToRemove,
  uidOfLogDirectory,
} from './container-gc.ts';

let next = 0;
function container(uid: string, name: string, at: number, state: ContainerState = 'exited', podSandboxId = 'sb'): Container {
  const labels: Record<string, string> = uid === '' ? {} : { 'io.kubernetes.pod.uid': uid };
  const base = { podSandboxId, image: { image: '' }, imageRef: '', imageId: '', labels, annotations: {} };
  return { ...base, id: `${name}${at}-${next++}`, metadata: { name, attempt: 0 }, state, createdAt: nanos(at) };
}
const boxOf = (id: string, uid: string, at: number, state: PodSandbox['state'] = 'notready'): PodSandbox => ({
  id,
  metadata: { name: 'p', uid, namespace: 'n', attempt: at },
  state,
  createdAt: nanos(at),
  labels: {},
  annotations: {},
  runtimeHandler: '',
});
const nowMs = Number(nanos(1000) / 1_000_000n);
const nobody = () => false;

test('running, young and foreign containers are no candidates', () => {
  const all = [container('u', 'a', 1, 'running'), container('u', 'a', 999), container('', 'x', 1), container('u', 'b', 1, 'unknown')];
  const found = evictableContainers(all, 60_000, nowMs);
  assert.deepEqual(
    found.map((c) => [c.name, c.unknown]),
    [['b', true]],
  );
});

test('one dead container of each name stays, all of a gone pod go, the oldest first', () => {
  const all = [
    container('u', 'a', 3),
    container('u', 'a', 1),
    container('u', 'b', 2),
    container('gone', 'a', 4),
    container('gone', 'a', 0),
  ];
  const dead = evictableContainers(all, 0, nowMs);
  const remove = containersToRemove(dead, defaultContainerGcPolicy, (uid) => uid === 'gone');
  assert.deepEqual(
    remove.map((c) => [c.uid, c.createdAt]),
    [
      ['gone', nanos(0)],
      ['u', nanos(1)],
      ['gone', nanos(4)],
    ],
  );
});

test('a bound for the node leaves each name one first, then takes the oldest', () => {
  const all = [container('u', 'a', 1), container('u', 'a', 2), container('u', 'a', 3), container('u', 'b', 4), container('u', 'c', 5)];
  const dead = evictableContainers(all, 0, nowMs);
  const kept = (maxTotal: number) => {
    const removed = containersToRemove(dead, { minAgeMs: 0, maxPerContainer: -1, maxTotal }, nobody);
    return dead.filter((c) => !removed.includes(c)).map((c) => c.createdAt);
  };
  assert.deepEqual(kept(5).length, 5);
  assert.deepEqual(kept(3), [nanos(5), nanos(4), nanos(3)]);
  assert.deepEqual(kept(1), [nanos(5)]);
  assert.deepEqual(kept(0), []);
});

test('sandboxes: the newest of a living pod stays, so do ready ones and ones with containers', () => {
  const boxes = [
    boxOf('s3', 'u', 3),
    boxOf('s2', 'u', 2),
    boxOf('s1', 'u', 1),
    boxOf('s0', 'u', 0, 'ready'),
    boxOf('g', 'gone', 5),
    boxOf('h', 'gone', 4, 'ready'),
  ];
  const remove = sandboxesToRemove(boxes, [container('u', 'a', 1, 'exited', 's1')], (uid) => uid === 'gone');
  assert.deepEqual(
    remove.map((s) => s.id),
    ['s2', 'g'],
  );
});

test('after a death: the older ones of that name, or all of a pod that is over', () => {
  const observed = [
    record('a', { at: 5, state: 'exited' }),
    record('a', { at: 4, state: 'exited' }),
    record('b', { at: 3, state: 'exited' }),
    record('a', { at: 2, state: 'exited' }),
    record('c', { at: 1 }),
  ];
  assert.deepEqual(
    deadContainersOfPod(observed, 'a-5', 1).map((c) => c.id),
    ['a-4', 'a-2'],
  );
  assert.deepEqual(deadContainersOfPod(observed, 'unknown', 1), []);
  assert.equal(deadContainersOfPod(observed, undefined, 0).length, 4);
});

test('names of log directories and links', () => {
  assert.equal(uidOfLogDirectory('ns_pod_0a1b'), podUid('0a1b'));
  for (const name of ['lost+found', 'ns_pod', 'a_b_c_d', '_p_u', 'ns_pod_']) assert.equal(uidOfLogDirectory(name), undefined, name);
  assert.equal(containerIdOfLogLink('pod-x_ns_a-abcdef012345.log'), 'abcdef012345');
  for (const name of ['pod_ns_a-abcde.log', 'abcdef.log', 'pod_ns_a-abcdef012345', '.log'])
    assert.equal(containerIdOfLogLink(name), undefined, name);
});

test('property: running containers and the newest dead of each wanted name are never removed', () => {
  const any = fc.array(
    fc.tuple(
      fc.constantFrom('u', 'v', 'gone'),
      fc.constantFrom('a', 'b'),
      fc.integer({ min: 0, max: 20 }),
      fc.constantFrom<ContainerState>('running', 'exited', 'created', 'unknown'),
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(any, fc.integer({ min: 1, max: 3 }), (list, maxPerContainer) => {
      const all = list.map(([uid, name, at, state]) => container(uid, name, at, state));
      const dead = evictableContainers(all, 0, nowMs);
      const removed = new Set(
        containersToRemove(dead, { minAgeMs: 0, maxPerContainer, maxTotal: -1 }, (uid) => uid === 'gone').map((c) => c.id),
      );
      for (const c of all) if (c.state === 'running') assert.ok(!removed.has(c.id));
      const units = Map.groupBy(dead, (c) => `${c.uid}/${c.name}`);
      for (const [key, unit] of units) {
        const left = unit.filter((c) => !removed.has(c.id));
        assert.equal(left.length, key.startsWith('gone/') ? 0 : Math.min(maxPerContainer, unit.length));
        for (const c of unit) if (removed.has(c.id)) assert.ok(left.every((l) => l.createdAt >= c.createdAt));
      }
    }),
  );
});
