import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podWith, record, time } from '../../test/support/status-fixtures.ts';
import type { Container, ContainerStatus, Pod } from '../api/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';
import { type ContainerStatusInput, containerStatuses } from './container-statuses.ts';

function statuses(pod: Pod, observed: ObservedContainer[], previous: ContainerStatus[] = [], over: Partial<ContainerStatusInput> = {}) {
  const input = { pod, observed, reasons: new Map(), runtimeName: 'containerd', restartingAll: false, recursiveReadOnly: false, ...over };
  return containerStatuses(input, 'regular', pod.spec.containers, previous);
}
const one = (...args: Parameters<typeof statuses>): ContainerStatus => {
  const [first] = statuses(...args);
  assert.ok(first);
  return first;
};
const running: ContainerStatus = {
  name: 'a',
  ready: true,
  restartCount: 2,
  image: 'i',
  imageID: '',
  containerID: 'containerd://a-1',
  state: { running: { startedAt: time(1) } },
};
const crash = new Map([['a', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);

test('a container that was not made yet waits; with init containers it waits for them', () => {
  assert.deepEqual(one(podWith(), []), {
    name: 'a',
    state: { waiting: { reason: 'ContainerCreating' } },
    ready: false,
    restartCount: 0,
    image: 'img-a',
    imageID: '',
  });
  assert.equal(one(podWith({ initContainers: [{ name: 'i' }] }), []).state?.waiting?.reason, 'PodInitializing');
});

test('a running container shows what the runtime says', () => {
  const status = one(podWith(), [record('a', { restartCount: 3, status: { user: { uid: 1, gid: 2, supplementalGroups: [2, 5] } } })]);
  assert.deepEqual(status, {
    name: 'a',
    state: { running: { startedAt: time(1) } },
    ready: false,
    restartCount: 3,
    image: 'img-a',
    imageID: 'ref-a',
    containerID: 'containerd://a-1',
    resources: {},
    user: { linux: { uid: 1, gid: 2, supplementalGroups: [2, 5] } },
  });
});

test('the container before the newest is the last state', () => {
  const observed = [
    record('a', { at: 9, restartCount: 1 }),
    record('a', { at: 3, state: 'exited', exitCode: 4, reason: 'Error', message: 'boom' }),
  ];
  assert.deepEqual(one(podWith(), observed).lastState, {
    terminated: { exitCode: 4, reason: 'Error', message: 'boom', startedAt: time(3), finishedAt: time(4), containerID: 'containerd://a-3' },
  });
});

test('a failed start shows as waiting only while the container is due, and its end moves to the last state', () => {
  const ended = [record('a', { state: 'exited', exitCode: 1 })];
  const due = one(podWith(), ended, [], { reasons: crash });
  assert.deepEqual(due.state, { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } });
  assert.equal(due.lastState?.terminated?.exitCode, 1);
  assert.equal(one(podWith({ restartPolicy: 'Never' }), ended, [], { reasons: crash }).state?.terminated?.exitCode, 1);
  assert.equal(one(podWith({}, { deleted: true }), ended, [], { reasons: crash }).state?.terminated?.exitCode, 1);
  assert.ok(one(podWith(), [record('a')], [], { reasons: crash }).state?.running);
});

test('a container that ran and is gone counts as stopped with 137, and as restarted unless the pod is deleted', () => {
  const gone = one(podWith(), [], [running]);
  assert.equal(gone.state?.waiting?.reason, 'ContainerCreating');
  assert.equal(gone.lastState?.terminated?.exitCode, 137);
  assert.equal(gone.lastState?.terminated?.reason, 'ContainerStatusUnknown');
  assert.equal(gone.restartCount, 3);
  assert.equal(one(podWith({}, { deleted: true }), [], [running]).restartCount, 2);
});

test('an end that was seen stays when the runtime has forgotten the container', () => {
  const ended = { ...running, state: { terminated: { exitCode: 5 } } };
  assert.deepEqual(one(podWith(), [], [ended]), ended);
});

test('a container in an unknown state that ran before has failed; one that never ran waits', () => {
  const unknown = [record('a', { state: 'unknown' })];
  const lost = one(podWith(), unknown, [running]);
  assert.equal(lost.state?.terminated?.exitCode, 137);
  assert.equal(lost.restartCount, 3);
  assert.deepEqual(one(podWith(), unknown).state, { waiting: {} });
});

test('while all containers restart, a removed one waits with that reason and its count goes on', () => {
  const removed = one(podWith(), [], [running], { restartingAll: true });
  assert.equal(removed.state?.waiting?.reason, 'RestartingAllContainers');
  assert.equal(removed.lastState?.terminated?.reason, 'RestartingAllContainers');
  assert.equal(removed.restartCount, 3);
  const again = one(podWith(), [record('a', { at: 50 })], [removed]);
  assert.equal(again.restartCount, 3, 'the count of the status wins over the lost one of the runtime');
  assert.equal(again.lastState?.terminated?.reason, 'RestartingAllContainers');
});

function initStatuses(init: Container[], observed: ObservedContainer[], restartingAll = false) {
  const pod = podWith({ initContainers: init });
  const input = { pod, observed, reasons: new Map(), runtimeName: 'containerd', restartingAll, recursiveReadOnly: false };
  return containerStatuses(input, 'init', init, []);
}

test('init containers stay in spec order; one that was removed after a regular one began counts as done', () => {
  const init = [{ name: 'z' }, { name: 'b', restartPolicy: 'Always' }, { name: 'a' }];
  const list = initStatuses(init, [record('a', { state: 'exited' }), record('a', { at: 1 })]);
  assert.deepEqual(
    list.map((s) => s.name),
    ['z', 'b', 'a'],
  );
  const [z, b] = initStatuses(init.slice(0, 2), [record('a')]);
  assert.deepEqual([z?.state?.terminated?.exitCode, z?.state?.terminated?.reason], [0, 'Completed']);
  assert.equal(b?.state?.waiting?.reason, 'PodInitializing', 'a sidecar will be started again');
  assert.ok(initStatuses([{ name: 'z' }], [])[0]?.state?.waiting);
  assert.ok(initStatuses([{ name: 'z' }], [record('a')], true)[0]?.state?.waiting, 'it was removed to run again');
});

test('regular containers are sorted by name', () => {
  const pod = podWith({ containers: [{ name: 'c' }, { name: 'a' }, { name: 'b' }] });
  assert.deepEqual(
    statuses(pod, []).map((s) => s.name),
    ['a', 'b', 'c'],
  );
});

test('resources in force: the same amount keeps its text, another one is shown, floors say nothing', () => {
  const resources = { limits: { cpu: '0.1', memory: '64Mi' }, requests: { cpu: '1m', memory: '32Mi' } };
  const pod = podWith({ containers: [{ name: 'a', image: 'i', resources }] });
  const inForce = (r: object) => one(pod, [record('a', { status: { resources: r } })]).resources;
  assert.deepEqual(inForce({ cpuPeriod: 100_000, cpuQuota: 10_000, cpuShares: 2, memoryLimitInBytes: 67_108_864 }), resources);
  const changed = inForce({ cpuPeriod: 100_000, cpuQuota: 50_000, cpuShares: 512, memoryLimitInBytes: 134_217_728 });
  assert.deepEqual(changed, { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '500m', memory: '32Mi' } });
  assert.deepEqual(one(pod, [record('a', { state: 'exited' })]).resources, resources);
  assert.deepEqual(one(pod, [record('a')]).allocatedResources, resources.requests);
});

test("the memory request in force is the agent's own record; so is everything where the runtime reports nothing", () => {
  const resources = { limits: { cpu: '2', memory: '2Gi' }, requests: { cpu: '1', memory: '1Gi' } };
  const pod = podWith({ containers: [{ name: 'a', image: 'i', resources }] });
  const before = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', memory: '512Mi' } };
  const shown = (r: object) => one(pod, [record('a', { status: r })], [], { actuated: () => before }).resources;
  const reported = { cpuPeriod: 100_000, cpuQuota: 200_000, cpuShares: 1024, memoryLimitInBytes: 2 ** 31 };
  assert.deepEqual(shown({ resources: reported }), { ...resources, requests: { cpu: '1', memory: '512Mi' } });
  assert.deepEqual(shown({ resources: undefined }), before);
});

test('mounts show their recursive read-only mode', () => {
  const volumeMounts = [
    { name: 'v', mountPath: '/v' },
    { name: 'r', mountPath: '/r', readOnly: true, recursiveReadOnly: 'IfPossible' },
  ];
  const pod = podWith({ containers: [{ name: 'a', volumeMounts }] });
  const shown = (recursiveReadOnly: boolean) => one(pod, [], [], { recursiveReadOnly }).volumeMounts;
  assert.deepEqual(shown(true), [
    { name: 'v', mountPath: '/v' },
    { name: 'r', mountPath: '/r', readOnly: true, recursiveReadOnly: 'Enabled' },
  ]);
  assert.equal(shown(false)?.[1]?.recursiveReadOnly, 'Disabled');
});
