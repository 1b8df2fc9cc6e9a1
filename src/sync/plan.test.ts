import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instance, main, planOf, pod, sandbox, seen, typesOf } from '../../test/support/plan-fixtures.ts';
import { sandboxId } from '../api/brands.ts';
import type { Container } from '../api/types.ts';

describe('plan: the sandbox', () => {
  it('begins with a sandbox of attempt 0', () => {
    assert.deepEqual(planOf(pod({}), seen([])).actions, [{ type: 'RunPodSandbox', attempt: 0, previousId: '' }]);
  });
  it('stops everything before it replaces a dead sandbox, then names it as the predecessor', () => {
    const observed = seen([sandbox({ state: 'notready' })], [instance('main', 'running')]);
    assert.deepEqual(typesOf(planOf(pod({}), observed)), ['KillPod']);
    const stopped = seen([sandbox({ state: 'notready' })], [instance('main', 'exited')]);
    assert.deepEqual(planOf(pod({}), stopped, { stoppedSandboxes: new Set([sandboxId('s0')]) }).actions, [
      { type: 'RunPodSandbox', attempt: 1, previousId: 's0' },
    ]);
  });
  it('replaces a sandbox without an address, but not one of a host network pod', () => {
    assert.deepEqual(typesOf(planOf(pod({}), seen([sandbox({ ip: '' })]))), ['KillPod']);
    assert.deepEqual(typesOf(planOf(pod({ hostNetwork: true }), seen([sandbox({ ip: '', network: 'NODE' })]))), ['StartContainer main']);
  });
  it('gives a run-once pod that has run no second sandbox', () => {
    const observed = seen([sandbox({ state: 'notready' })], [instance('main', 'exited', { exitCode: 1 })]);
    const once = pod({ restartPolicy: 'Never' });
    assert.deepEqual(typesOf(planOf(once, observed)), ['KillPod']);
    assert.deepEqual(planOf(once, observed, { stoppedSandboxes: new Set([sandboxId('s0')]) }).actions, []);
  });
});

describe('plan: regular containers', () => {
  it('starts all that do not run, side by side', () => {
    const two = pod({ containers: [main, { name: 'side', image: 'i' }] });
    assert.deepEqual(typesOf(planOf(two, seen([sandbox()]))), ['StartContainer main', 'StartContainer side']);
    assert.deepEqual(typesOf(planOf(two, seen([sandbox()], [instance('main', 'running')]))), ['StartContainer side']);
  });
  it('waits for the back-off of one that crashed, and says for how long', () => {
    const crashed = seen([sandbox()], [instance('main', 'exited', { exitCode: 1 })]);
    const waits = planOf(pod({}), crashed, { backOff: () => ({ remainingMs: 7000, delayMs: 10_000 }) });
    assert.deepEqual(waits, { actions: [], waits: [{ kind: 'regular', name: 'main', remainingMs: 7000, delayMs: 10_000 }] });
  });
  it('restarts by the policy', () => {
    const failed = seen([sandbox()], [instance('main', 'exited', { exitCode: 1 })]);
    const ended = seen([sandbox()], [instance('main', 'exited', { exitCode: 0 })]);
    assert.deepEqual(typesOf(planOf(pod({ restartPolicy: 'OnFailure' }), failed)), ['StartContainer main']);
    assert.deepEqual(typesOf(planOf(pod({ restartPolicy: 'OnFailure' }), ended)), []);
    assert.deepEqual(typesOf(planOf(pod({ restartPolicy: 'Never' }), failed)), []);
    assert.deepEqual(typesOf(planOf(pod({}), ended)), ['StartContainer main']);
  });
  it('stops and starts a container of another definition, also under Never', () => {
    const old = seen([sandbox()], [instance('main', 'running', { hash: 'other' })]);
    const [kill] = planOf(pod({ restartPolicy: 'Never' }), old).actions;
    assert.equal(kill?.type === 'KillContainer' && kill.message, 'Container main definition changed, will be restarted');
    const killed = seen([sandbox()], [instance('main', 'exited', { hash: 'other' })]);
    const again = planOf(pod({ restartPolicy: 'Never' }), killed, { mustStart: new Set(['main']) });
    assert.deepEqual(typesOf(again), ['StartContainer main']);
  });
  it('stops one whose liveness probe failed, for good under Never', () => {
    const running = seen([sandbox()], [instance('main', 'running')]);
    const failing = { probe: (_id: string, kind: string) => (kind === 'liveness' ? ('Failure' as const) : ('Success' as const)) };
    const kill = planOf(pod({ restartPolicy: 'Never' }), running, failing).actions[0];
    assert.ok(kill?.type === 'KillContainer' && !kill.thenStart);
    const restarting = planOf(pod({}), running, failing).actions[0];
    assert.ok(restarting?.type === 'KillContainer' && restarting.thenStart);
  });
  it('stops one in an unknown state before it starts it again', () => {
    const unknown = seen([sandbox()], [instance('main', 'unknown')]);
    assert.deepEqual(typesOf(planOf(pod({}), unknown)), ['KillContainer main']);
  });
  it('does nothing when all is well', () => {
    assert.deepEqual(planOf(pod({}), seen([sandbox()], [instance('main', 'running')])), { actions: [], waits: [] });
  });
});

describe('plan: init containers', () => {
  const withInit = pod({
    initContainers: [
      { name: 'a', image: 'i' },
      { name: 'b', image: 'i' },
    ],
  });
  it('go one at a time, then the regular ones', () => {
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox()]))), ['StartContainer a']);
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox()], [instance('a', 'running')]))), []);
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox()], [instance('a', 'exited')]))), ['StartContainer b']);
    const both = [instance('b', 'exited'), instance('a', 'exited')];
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox()], both))), ['StartContainer main']);
  });
  it('are taken as done when a later one is there', () => {
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox()], [instance('b', 'exited')]))), ['StartContainer main']);
  });
  it('begin anew in a new sandbox', () => {
    const old = [instance('a', 'exited', { sandbox: 's0' }), instance('b', 'exited', { sandbox: 's0' })];
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox({ attempt: 1 })], old))), ['StartContainer a']);
  });
  it('end the pod when they fail for good', () => {
    const once = pod({ restartPolicy: 'Never', initContainers: [{ name: 'a', image: 'i' }] });
    const failed = seen([sandbox()], [instance('a', 'exited', { exitCode: 2 })]);
    assert.deepEqual(typesOf(planOf(once, failed)), ['KillPod']);
    assert.deepEqual(typesOf(planOf(withInit, failed)), ['StartContainer a']);
  });
  it('let a sidecar run beside the rest, and start it again', () => {
    const side: Container = { name: 'side', image: 'i', restartPolicy: 'Always' };
    const p = pod({ initContainers: [side, { name: 'b', image: 'i' }] });
    assert.deepEqual(typesOf(planOf(p, seen([sandbox()], [instance('side', 'running')]))), ['StartContainer b']);
    const notStarted = { probe: () => 'Unknown' as const };
    const slow = pod({ initContainers: [{ ...side, startupProbe: {} }] });
    assert.deepEqual(typesOf(planOf(slow, seen([sandbox()], [instance('side', 'running')]), notStarted)), []);
    const crashed = seen([sandbox()], [instance('side', 'exited', { exitCode: 1 }), instance('main', 'running')]);
    assert.deepEqual(typesOf(planOf(pod({ initContainers: [side] }), crashed)), ['StartContainer side']);
  });
});
