import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../api/brands.ts';
import type { Container, PodSandbox } from '../cri/types.ts';
import { eventsBetween, hasLiveMember, recordsOf } from './record.ts';

const labels = { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n' };
const sandbox = (id: string, state: PodSandbox['state']): PodSandbox => ({
  id,
  metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 0 },
  state,
  createdAt: 0n,
  labels,
  annotations: {},
  runtimeHandler: '',
});
const container = (id: string, state: Container['state'], name: string | undefined = 'c'): Container => ({
  id,
  podSandboxId: 's',
  metadata: { name: name ?? 'c', attempt: 0 },
  image: { image: 'i' },
  imageRef: 'i',
  imageId: 'i',
  state,
  createdAt: 0n,
  labels: name === undefined ? labels : { ...labels, 'io.kubernetes.container.name': name },
  annotations: {},
});
const of = (sandboxes: PodSandbox[], containers: Container[]) => recordsOf(sandboxes, containers).get(podUid('u'));
const types = (a: ReturnType<typeof of>, b: ReturnType<typeof of>) => eventsBetween(a, b).map((e) => `${e.type} ${e.id}`);

describe('pod records', () => {
  it('gather a pod from both lists and leave out what is not ours', () => {
    const records = recordsOf([sandbox('s', 'ready')], [container('c1', 'running'), { ...container('x', 'running'), labels: {} }]);
    assert.deepEqual([...records.keys()], ['u']);
    assert.deepEqual([...(records.get(podUid('u'))?.containers.keys() ?? [])], ['c1']);
  });
  it('tell what started, died and went', () => {
    const empty = undefined;
    const up = of([sandbox('s', 'ready')], [container('c1', 'running')]);
    const down = of([sandbox('s', 'ready')], [container('c1', 'exited')]);
    const gone = of([sandbox('s', 'notready')], []);
    assert.deepEqual(types(empty, up), ['ContainerStarted s', 'ContainerStarted c1']);
    assert.deepEqual(types(up, up), []);
    assert.deepEqual(types(up, down), ['ContainerDied c1']);
    assert.deepEqual(types(down, gone), ['ContainerDied s', 'ContainerRemoved c1']);
    assert.deepEqual(types(up, gone), ['ContainerDied s', 'ContainerDied c1', 'ContainerRemoved c1'], 'a jump tells the death too');
    assert.deepEqual(types(up, empty).length, 4);
  });
  it('take a created container as unknown: no event, but alive', () => {
    const created = of([], [container('c1', 'created')]);
    assert.deepEqual(types(undefined, created), []);
    assert.equal(created && hasLiveMember(created), true);
    const dead = of([sandbox('s', 'notready')], [container('c1', 'exited')]);
    assert.equal(dead && hasLiveMember(dead), false);
  });
});
