import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { AdmissionVerdict } from '../admission/chain.ts';
import { podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { Dispatcher } from './dispatcher.ts';
import { Intake, type PodAllocation } from './intake.ts';
import { PodStore } from './store.ts';

const pod = (uid: string, over: Partial<Pod['metadata']> = {}, source = 'api'): Pod => ({
  metadata: { name: uid, namespace: 'n', uid, annotations: { 'kubernetes.io/config.source': source }, ...over },
  spec: { containers: [] },
});

function rig(
  admit: (pod: Pod, others: readonly Pod[]) => AdmissionVerdict = () => undefined,
  preempt = async () => {},
  allocation?: PodAllocation,
) {
  const clock = new SimClock();
  const store = new PodStore(['file', 'api']);
  const began: string[] = [];
  const dispatcher = new Dispatcher({
    clock,
    log: silentLogger,
    step: async (state) => {
      began.push(`${state.pod.metadata.uid}:${state.phase}`);
      return { kind: 'stay', retryAfterMs: undefined };
    },
  });
  const rejected: string[] = [];
  const events: string[] = [];
  const touched: string[] = [];
  const intake = new Intake({
    store,
    dispatcher,
    timeline: { note() {} },
    events: { event: (_o, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
    log: silentLogger,
    admit,
    preempt,
    allocation,
    reject: (p, { reason }) => void rejected.push(`${p.metadata.uid} ${reason}`),
    mirrorsSeen: (mirrors) => mirrors.map((m) => `${m.metadata.name}_n`),
    apiObjectChanged: (p) => void touched.push(p.metadata.uid),
    forget() {},
  });
  return { clock, store, dispatcher, intake, began, rejected, events, touched };
}

test('pods are admitted in the order of their creation, each beside those that count', async () => {
  const seen: [string, string[]][] = [];
  const r = rig((p, others) => {
    seen.push([p.metadata.uid, others.map((o) => o.metadata.uid)]);
    return undefined;
  });
  r.intake.changed('api', [
    pod('b', { creationTimestamp: '2030-01-01T00:00:02Z' }),
    pod('a', { creationTimestamp: '2030-01-01T00:00:01Z' }),
  ]);
  await r.clock.settle();
  assert.deepEqual(seen, [
    ['a', []],
    ['b', ['a']],
  ]);
});

test('a refused pod gets no lane, an event, and does not count for others; it is not asked for again', async () => {
  const r = rig((p, others) =>
    p.metadata.uid === 'big' || others.some((o) => o.metadata.uid === 'big') ? { reason: 'OutOfcpu', message: 'no room' } : undefined,
  );
  r.intake.changed('api', [pod('big')]);
  r.intake.changed('api', [pod('big'), pod('small')]);
  r.intake.begin(pod('big'));
  await r.clock.settle();
  assert.deepEqual(r.rejected, ['big OutOfcpu']);
  assert.deepEqual(r.events, ['Warning OutOfcpu no room']);
  assert.equal(r.dispatcher.state(podUid('big')), undefined);
  assert.deepEqual(r.began, ['small:sync']);
});

test('a pod that is to go, or has ended, is not admitted but taken as it is', async () => {
  const r = rig(() => assert.fail('nothing to admit'));
  r.intake.changed('api', [{ ...pod('done'), status: { phase: 'Failed' } }, pod('leaving', { deletionTimestamp: '2030-01-01T00:00:00Z' })]);
  await r.clock.settle();
  assert.deepEqual(r.began.toSorted(), ['done:terminating', 'leaving:terminating']);
});

test('a mirror is no pod: it wakes the static pod that it shows', async () => {
  const r = rig();
  r.intake.changed('file', [pod('s', { name: 'web' }, 'file')]);
  await r.clock.settle();
  const mirror = pod('m', { name: 'web', annotations: { 'kubernetes.io/config.mirror': 'h', 'kubernetes.io/config.source': 'api' } });
  r.intake.changed('api', [mirror]);
  await r.clock.settle();
  assert.deepEqual(r.began, ['s:sync', 's:sync']);
  assert.deepEqual(r.touched, ['s']);
  assert.equal(r.store.has(podUid('m')), false);
});

test('a status that changed there is looked at by the writer, without a sync of the pod', async () => {
  const r = rig();
  r.intake.changed('api', [pod('a')]);
  await r.clock.settle();
  r.intake.changed('api', [{ ...pod('a'), status: { phase: 'Running' } }]);
  await r.clock.settle();
  assert.deepEqual([r.began, r.touched], [['a:sync'], ['a']]);
});

function preempting() {
  const stopped = Promise.withResolvers<void>();
  const seen: Record<string, string[]> = {};
  const r = rig(
    (p, others) => {
      seen[p.metadata.uid] = others.map((o) => o.metadata.uid).toSorted();
      const victim = others.find((o) => o.metadata.uid === 'victim');
      return p.metadata.uid === 'critical' && victim !== undefined ? { preempt: [victim], resource: 'cpu', message: 'no room' } : undefined;
    },
    () => stopped.promise,
  );
  return { ...r, seen, stopped };
}

test('a critical pod begins when those that make room for it have stopped; until then it counts, and they do not', async () => {
  const r = preempting();
  r.intake.changed('api', [pod('victim')]);
  r.intake.changed('api', [pod('victim'), pod('critical')]);
  r.intake.begin(pod('critical'));
  r.intake.changed('api', [pod('victim'), pod('critical'), pod('next')]);
  await r.clock.settle();
  assert.deepEqual(r.began, ['victim:sync', 'next:sync']);
  assert.deepEqual(r.seen, { victim: [], critical: ['victim'], next: ['critical'] });
  r.stopped.resolve();
  await r.clock.settle();
  assert.deepEqual(r.began, ['victim:sync', 'next:sync', 'critical:sync']);
});

test('a critical pod that is taken away while it waits does not begin', async () => {
  const r = preempting();
  r.intake.changed('api', [pod('victim')]);
  r.intake.changed('api', [pod('victim'), pod('critical')]);
  r.intake.changed('api', [pod('victim')]);
  r.stopped.resolve();
  await r.clock.settle();
  assert.equal(
    r.began.some((text) => text.startsWith('critical')),
    false,
  );
});

test('lanes see pods with what they are allocated; the allocation is told of every change, once all of a set are admitted', async () => {
  const told: string[] = [];
  const r = rig(undefined, undefined, {
    allocated: (p) => ({ ...p, spec: { ...p.spec, resources: { requests: { cpu: '1' } } } }),
    added: (pods) => void told.push(`added ${pods.map((p) => p.metadata.uid).join()}`),
    updated: (before, p) => void told.push(`updated ${before?.spec.hostname} ${p.spec.hostname}`),
    removed: (uid) => void told.push(`removed ${uid}`),
  });
  const named = (uid: string, hostname: string): Pod => ({ ...pod(uid), spec: { containers: [], hostname } });
  r.intake.changed('api', [named('a', 'x'), pod('b')]);
  assert.deepEqual(r.dispatcher.state(podUid('a'))?.pod.spec.resources, { requests: { cpu: '1' } });
  r.intake.changed('api', [named('a', 'y'), pod('b')]);
  await r.clock.settle();
  assert.deepEqual(r.dispatcher.state(podUid('a'))?.pod.spec, { containers: [], hostname: 'y', resources: { requests: { cpu: '1' } } });
  r.intake.changed('api', [named('a', 'y')]);
  assert.deepEqual(told, ['added a,b', 'updated x y', 'added ', 'removed b', 'added ']);
});
