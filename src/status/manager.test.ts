import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputFor, observedPod, podWith, record, time } from '../../test/support/status-fixtures.ts';
import { podUid } from '../api/brands.ts';
import type { ContainerStatus, Pod, PodStatus } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { computePodStatus } from './compute.ts';
import { StatusManager } from './manager.ts';

const uid = podUid('u');
const fakeClock = () => {
  const clock = { ms: Date.parse(time(0)), now: () => clock.ms };
  return clock;
};
function setUp() {
  const clock = fakeClock();
  const changes: string[] = [];
  const ends: unknown[][] = [];
  const errors: string[] = [];
  const log = { ...silentLogger, error: (_: unknown, msg: string) => errors.push(msg) };
  const manager = new StatusManager({ clock, log, onTerminated: (...end) => ends.push(end) });
  manager.subscribe({ statusChanged: (u) => changes.push(u) });
  return { clock, manager, changes, ends, errors };
}
const container = (state: ContainerStatus['state'], over: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'a',
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
  containerID: 'containerd://x',
  ...(state ? { state } : {}),
  ...over,
});
const runningStatus = (pod: Pod): PodStatus => computePodStatus(inputFor(pod, { observed: observedPod([record('a')]) }));

test('a status is stored once: the same again is no change, dates and foreign conditions do not count', () => {
  const { manager, changes } = setUp();
  const pod = podWith();
  const status = runningStatus(pod);
  assert.equal(manager.set(pod, status), true);
  assert.equal(manager.set(pod, structuredClone(status)), false);
  const noise = { ...status, conditions: [...(status.conditions ?? []), { type: 'x/y', status: 'True' } as const] };
  assert.equal(manager.set(pod, noise), false);
  assert.equal(manager.set(pod, { ...status, message: 'new' }), true);
  assert.deepEqual(changes, ['u', 'u']);
  assert.equal(manager.entry(uid)?.version, 2);
});

test('a pod under deletion counts as changed each time', () => {
  const { manager } = setUp();
  const pod = podWith({}, { deleted: true });
  assert.equal(manager.set(pod, { phase: 'Running' }), true);
  assert.equal(manager.set(pod, { phase: 'Running' }), true);
});

test('an ended container does not come back unless its policy lets it', () => {
  const revive = (pod: Pod, exitCode: number) => {
    const { manager, errors } = setUp();
    manager.set(pod, { containerStatuses: [container({ terminated: { exitCode } })] });
    const taken = manager.set(pod, { containerStatuses: [container({ running: {} })] });
    assert.equal(errors.length, taken ? 0 : 1);
    assert.equal(manager.get(uid)?.containerStatuses?.[0]?.state?.running !== undefined, taken);
    return taken;
  };
  assert.equal(revive(podWith({ restartPolicy: 'Never' }), 1), false);
  assert.equal(revive(podWith({ restartPolicy: 'OnFailure' }), 0), false);
  assert.equal(revive(podWith({ restartPolicy: 'OnFailure' }), 1), true);
  assert.equal(revive(podWith({ restartPolicy: 'Always' }), 0), true);
  const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [9] } }];
  assert.equal(revive(podWith({ restartPolicy: 'Never', containers: [{ name: 'a', restartPolicyRules: rules }] }), 1), true);
});

test('an ordinary init container does not come back, a sidecar does', () => {
  const { manager } = setUp();
  const pod = podWith({ restartPolicy: 'Never', initContainers: [{ name: 'i' }, { name: 's', restartPolicy: 'Always' }] });
  const list = (i: ContainerStatus['state'], s: ContainerStatus['state']) => ({
    initContainerStatuses: [container(i, { name: 'i' }), container(s, { name: 's' })],
  });
  const end = { terminated: { exitCode: 0 } };
  manager.set(pod, list(end, end));
  assert.equal(manager.set(pod, list(end, { running: {} })), true);
  assert.equal(manager.set(pod, list({ waiting: {} }, { running: {} })), false);
});

test('a probe result changes readiness and its conditions at once', () => {
  const { manager, clock } = setUp();
  const pod = podWith({ containers: [{ name: 'a', readinessProbe: {} }] });
  manager.set(pod, runningStatus(pod));
  const ready = () => manager.get(uid)?.conditions?.find((c) => c.type === 'Ready');
  const before = manager.get(uid);
  assert.equal(ready()?.status, 'False');
  clock.ms += 5000;
  assert.equal(manager.setContainerReady(uid, 'containerd://a-1', true), true);
  assert.deepEqual([ready()?.status, ready()?.lastTransitionTime], ['True', time(5)]);
  assert.equal(before?.containerStatuses?.[0]?.ready, false, 'stored statuses are never modified');
  assert.equal(manager.setContainerReady(uid, 'containerd://a-1', true), false);
  assert.equal(manager.setContainerReady(uid, 'containerd://other', true), false);
  assert.equal(manager.setContainerReady(podUid('nobody'), 'containerd://a-1', true), false);
  assert.equal(manager.setContainerStarted(uid, 'containerd://a-1', false), true);
  assert.equal(manager.get(uid)?.containerStatuses?.[0]?.started, false);
});

test('ending a pod: what nobody saw end has failed, the phase is terminal, and it is final', () => {
  const { manager } = setUp();
  const pod = podWith();
  manager.set(pod, runningStatus(pod));
  manager.terminate(pod);
  const status = manager.get(uid);
  assert.equal(status?.phase, 'Failed');
  assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
  manager.set(pod, { phase: 'Failed' });
  assert.equal(manager.entry(uid)?.finished, true);
});

test('ending a static pod keeps its phase: it may start again', () => {
  const { manager } = setUp();
  const pod = podWith({}, { source: 'file' });
  manager.set(pod, runningStatus(pod));
  manager.terminate(pod);
  assert.equal(manager.get(uid)?.phase, 'Running');
  manager.set(pod, { phase: 'Pending' });
  assert.equal(manager.entry(uid)?.finished, false);
});

test('ending a pod that never got past its init containers leaves the others waiting', () => {
  const { manager } = setUp();
  const pod = podWith({ initContainers: [{ name: 'i' }, { name: 'j' }] });
  manager.set(pod, computePodStatus(inputFor(pod, { observed: observedPod([record('i')]) })));
  manager.terminate(pod);
  const status = manager.get(uid);
  const ends = status?.initContainerStatuses?.map((s) => s.state?.terminated?.exitCode);
  assert.deepEqual(ends, [137, undefined]);
  assert.ok(status?.containerStatuses?.[0]?.state?.waiting);
});

test('each end is reported once', () => {
  const { manager, ends } = setUp();
  const pod = podWith();
  const end = { containerStatuses: [container({ terminated: { exitCode: 3, reason: 'Error' } })] };
  manager.set(pod, { containerStatuses: [container({ running: {} })] });
  manager.set(pod, end);
  manager.set(pod, { ...end, message: 'again' });
  assert.deepEqual(ends, [['regular', 3, 'Error']]);
});

test('the start time and the generation never go back', () => {
  const { manager, clock } = setUp();
  const pod = podWith();
  manager.set(pod, { phase: 'Pending', observedGeneration: 4 });
  clock.ms += 60_000;
  manager.set(pod, { phase: 'Running', startTime: time(60), observedGeneration: 2 });
  assert.deepEqual([manager.get(uid)?.startTime, manager.get(uid)?.observedGeneration], [time(0), 4]);
});

test('times are cut to seconds, and statuses sorted', () => {
  const { manager } = setUp();
  const pod = podWith({ initContainers: [{ name: 'z' }, { name: 'y' }] });
  manager.set(pod, {
    startTime: '2030-01-02T03:04:05.678+01:00',
    containerStatuses: [container({ running: { startedAt: '2030-01-02T03:04:05.9Z' } }, { name: 'b' }), container({ waiting: {} })],
    initContainerStatuses: [container({ waiting: {} }, { name: 'y' }), container({ waiting: {} }, { name: 'z' })],
    ephemeralContainerStatuses: [],
  });
  const status = manager.get(uid);
  assert.equal(status?.startTime, '2030-01-02T02:04:05Z');
  assert.deepEqual(
    status?.containerStatuses?.map((s) => s.name),
    ['a', 'b'],
  );
  assert.equal(status?.containerStatuses?.[1]?.state?.running?.startedAt, '2030-01-02T03:04:05Z');
  assert.deepEqual(
    status?.initContainerStatuses?.map((s) => s.name),
    ['z', 'y'],
  );
  assert.equal('ephemeralContainerStatuses' in (status ?? {}), false);
});

test('the status that the API server holds is what the first one is compared with', () => {
  const manager = new StatusManager({
    clock: fakeClock(),
    log: silentLogger,
    apiStatus: () => ({ startTime: time(-50), conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: time(-40) }] }),
  });
  manager.set(podWith(), { conditions: [{ type: 'PodScheduled', status: 'True' }] });
  assert.equal(manager.get(uid)?.startTime, time(-50));
  assert.equal(manager.get(uid)?.conditions?.[0]?.lastTransitionTime, time(-40));
});

test('pods are forgotten one by one and as orphans; a removed sink hears nothing', () => {
  const { manager } = setUp();
  let heard = 0;
  const leave = manager.subscribe({ statusChanged: () => heard++ });
  manager.set(podWith(), { phase: 'Pending' });
  leave();
  manager.set(podWith(), { phase: 'Running' });
  assert.equal(heard, 1);
  manager.removeOrphans(new Set([uid]));
  assert.equal([...manager.entries()].length, 1);
  manager.removeOrphans(new Set());
  assert.equal(manager.get(uid), undefined);
  manager.set(podWith(), { phase: 'Running' });
  manager.remove(uid);
  assert.equal(manager.get(uid), undefined);
});
