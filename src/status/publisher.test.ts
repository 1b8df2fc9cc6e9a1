import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observedPod, podWith, record, time } from '../../test/support/status-fixtures.ts';
import { podUid } from '../api/brands.ts';
import { silentLogger } from '../observe/log.ts';
import { StatusManager } from './manager.ts';
import { PodStatusPublisher } from './publisher.ts';
import { ReasonCache } from './reason-cache.ts';

const uid = podUid('u');

test('what is published is stored, with the reasons why containers do not start, until the pod ends', () => {
  const clock = { now: () => Date.parse(time(0)) };
  const manager = new StatusManager({ clock, log: silentLogger });
  const reasons = new ReasonCache();
  const probes = { readiness: () => true, started: () => undefined };
  const node = { hostIPs: () => ['192.0.2.1'], runtimeName: () => 'containerd', recursiveReadOnly: () => false };
  const publisher = new PodStatusPublisher({ manager, reasons, probes, node, clock });
  const pod = podWith();

  publisher.noteFailures(uid, new Map([['a', { reason: 'ErrImagePull', message: 'no such image' }]]));
  const status = publisher.publish(pod, observedPod([]), { terminal: false });
  assert.deepEqual(status.containerStatuses?.[0]?.state, { waiting: { reason: 'ErrImagePull', message: 'no such image' } });
  assert.equal(status.hostIP, '192.0.2.1');
  assert.deepEqual(manager.get(uid), status);

  publisher.noteFailures(uid, new Map());
  const next = publisher.publish(pod, observedPod([record('a')]), { terminal: false, override: undefined });
  assert.equal(next.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
  publisher.noteFailures(uid, new Map([['a', { reason: 'x', message: '' }]]));
  publisher.terminated(pod);
  assert.equal(manager.get(uid)?.phase, 'Failed');
  assert.equal(reasons.get(uid).size, 0);
});

test('a resize shows in the status until the pod ends', () => {
  const clock = { now: () => Date.parse(time(0)) };
  const manager = new StatusManager({ clock, log: silentLogger });
  const probes = { readiness: () => true, started: () => undefined };
  const node = { hostIPs: () => [], runtimeName: () => 'containerd', recursiveReadOnly: () => false };
  const ended: string[] = [];
  const resize = {
    conditions: () => [{ type: 'PodResizeInProgress', status: 'True' as const, observedGeneration: 2 }],
    actuated: () => ({ requests: { memory: '1Gi' } }),
    podLevel: () => ({ cgroup: { cpuShares: 1024, cpuQuota: -1, cpuPeriod: 100_000, memory: -1 } }),
    ended: (id: string) => void ended.push(id),
  };
  const publisher = new PodStatusPublisher({ manager, reasons: new ReasonCache(), probes, node, clock, resize });
  const pod = podWith({ containers: [{ name: 'a', resources: { requests: { memory: '2Gi', cpu: '1' } } }] });
  const status = publisher.publish(pod, observedPod([record('a')]), { terminal: false });
  assert.equal(status.conditions?.[0]?.type, 'PodResizeInProgress');
  assert.deepEqual(status.allocatedResources, { memory: '2Gi', cpu: '1' });
  assert.equal(status.containerStatuses?.[0]?.resources?.requests?.['memory'], '1Gi');
  const last = publisher.publish(pod, observedPod([record('a', { state: 'exited' })]), { terminal: true });
  assert.equal(
    last.conditions?.some((c) => c.type === 'PodResizeInProgress'),
    false,
  );
  assert.deepEqual(ended, ['u']);
});

test('the reason cache keeps one reason a container, until it starts or the pod goes', () => {
  const cache = new ReasonCache();
  cache.update(uid, 'a', { reason: 'r1', message: '' });
  cache.update(uid, 'a', { reason: 'r2', message: 'm' });
  cache.update(uid, 'b', undefined);
  assert.deepEqual([...cache.get(uid)], [['a', { reason: 'r2', message: 'm' }]]);
  cache.update(uid, 'a', undefined);
  assert.equal(cache.get(uid).size, 0);
  cache.update(uid, 'a', { reason: 'r', message: '' });
  cache.removeOrphans(new Set());
  assert.equal(cache.get(uid).size, 0);
});
