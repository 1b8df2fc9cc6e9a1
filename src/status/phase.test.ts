import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { podWith } from '../../test/support/status-fixtures.ts';
import type { ContainerState, ContainerStatus, RestartPolicy } from '../api/types.ts';
import { podPhase } from './phase.ts';

const states: Record<string, { state?: ContainerState; lastState?: ContainerState; started?: boolean }> = {
  run: { state: { running: {} }, started: true },
  starting: { state: { running: {} }, started: false },
  ok: { state: { terminated: { exitCode: 0 } } },
  bad: { state: { terminated: { exitCode: 1 } } },
  wait: { state: { waiting: {} } },
  crash: { state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } },
  removed: { state: { waiting: {} }, lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } } },
  none: {},
};
type Kind = keyof typeof states;
const status = (name: string, kind: Kind): ContainerStatus => ({
  name,
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
  ...states[kind],
});
const going = { podIsTerminal: false, podHasInitialized: false };

test('an init container that failed for good fails the pod, one that may restart does not', () => {
  const init = { initContainers: [{ name: 'i' }] };
  const list = [status('i', 'bad'), status('a', 'wait')];
  assert.equal(podPhase(podWith({ ...init, restartPolicy: 'Never' }), list, going), 'Failed');
  assert.equal(podPhase(podWith({ ...init, restartPolicy: 'OnFailure' }), list, going), 'Pending');
  assert.equal(podPhase(podWith({ ...init, restartPolicy: 'Never' }), [status('i', 'removed'), status('a', 'wait')], going), 'Pending');
});

test('a sidecar that has not started holds the pod back only until it was initialised', () => {
  const pod = podWith({ initContainers: [{ name: 's', restartPolicy: 'Always' }] });
  const list = [status('s', 'starting'), status('a', 'run')];
  assert.equal(podPhase(pod, list, going), 'Pending');
  assert.equal(podPhase(pod, list, { ...going, podHasInitialized: true }), 'Running');
});

test('a crash loop stays Running', () => {
  assert.equal(podPhase(podWith(), [status('a', 'crash')], going), 'Running');
  assert.equal(podPhase(podWith({ restartPolicy: 'Never' }), [status('a', 'crash')], going), 'Failed');
});

test('an ended worker gives a terminal phase, except to a static pod that may restart', () => {
  const context = { podIsTerminal: true, podHasInitialized: true };
  assert.equal(podPhase(podWith(), [status('a', 'ok')], context), 'Succeeded');
  assert.equal(podPhase(podWith(), [status('a', 'bad')], context), 'Failed');
  assert.equal(podPhase(podWith({}, { source: 'file' }), [status('a', 'ok')], context), 'Running');
  assert.equal(podPhase(podWith({}, { source: 'api' }), [status('a', 'ok')], context), 'Succeeded');
});

test('a container without a status keeps the pod Pending', () => {
  const pod = podWith({ containers: [{ name: 'a' }, { name: 'b' }], restartPolicy: 'Never' });
  assert.equal(podPhase(pod, [status('a', 'bad')], going), 'Pending');
  assert.equal(podPhase(pod, [status('a', 'run'), status('b', 'none')], going), 'Pending');
});

const kinds = fc.constantFrom<Kind>(...Object.keys(states));
test('property: Running needs evidence of a container; Succeeded needs every regular container to have ended with 0', () => {
  fc.assert(
    fc.property(
      fc.constantFrom<RestartPolicy>('Always', 'OnFailure', 'Never'),
      fc.array(fc.tuple(fc.boolean(), kinds), { maxLength: 3 }),
      fc.array(kinds, { minLength: 1, maxLength: 3 }),
      fc.record({ podIsTerminal: fc.boolean(), podHasInitialized: fc.boolean() }),
      (restartPolicy, init, regular, context) => {
        const pod = podWith({
          restartPolicy,
          initContainers: init.map(([sidecar], i) => ({ name: `i${i}`, ...(sidecar ? { restartPolicy: 'Always' } : {}) })),
          containers: regular.map((_, i) => ({ name: `c${i}` })),
        });
        const list = [...init.map(([, k], i) => status(`i${i}`, k)), ...regular.map((k, i) => status(`c${i}`, k))];
        const phase = podPhase(pod, list, context);
        assert.equal(podPhase(pod, list.toReversed(), context), phase, 'the order of statuses does not matter');
        if (phase === 'Succeeded') assert.ok(regular.every((k) => k === 'ok'));
        if (phase === 'Failed' && init.every(([sidecar]) => sidecar))
          assert.ok(regular.every((k) => !['run', 'starting', 'wait', 'none'].includes(k)));
        if (phase === 'Running') assert.ok(list.some((s) => s.state?.running || s.state?.terminated || s.lastState?.terminated));
      },
    ),
  );
});
