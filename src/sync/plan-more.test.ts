import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instance, main, planOf, pod, sandbox, seen, typesOf } from '../../test/support/plan-fixtures.ts';
import { sandboxId } from '../api/brands.ts';
import type { Container } from '../api/types.ts';
import type { PlanInput, ProbeResult } from './plan-input.ts';

const side: Container = { name: 'side', image: 'i', restartPolicy: 'Always' };
const init = (name: string): Container => ({ name, image: 'i' });
const stopped = { stoppedSandboxes: new Set([sandboxId('s0')]) };
const probes = (liveness: ProbeResult, startup: ProbeResult): Partial<PlanInput> => ({
  probe: (_id, kind) => (kind === 'liveness' ? liveness : startup),
});

describe('plan: a new sandbox', () => {
  const dead = sandbox({ state: 'notready' });
  it('is not made for a pod whose containers have all ended well', () => {
    const observed = seen([dead], [instance('main', 'exited')]);
    assert.deepEqual(planOf(pod({ restartPolicy: 'OnFailure' }), observed, stopped).actions, []);
  });
  it('is made for one of which some still have to run, by a policy of the container too', () => {
    const observed = seen([dead], [instance('main', 'exited', { exitCode: 1 })]);
    assert.deepEqual(typesOf(planOf(pod({ restartPolicy: 'OnFailure' }), observed, stopped)), ['RunPodSandbox']);
    const own = pod({ restartPolicy: 'Never', containers: [{ ...main, restartPolicy: 'OnFailure' }] });
    assert.deepEqual(typesOf(planOf(own, observed, stopped)), ['RunPodSandbox']);
  });
  it('purges the init containers of the old one', () => {
    const [kill] = planOf(pod({ initContainers: [init('a')] }), seen([dead], [instance('a', 'running')])).actions;
    assert.deepEqual(kill?.type === 'KillPod' && kill.purgeInit, true);
  });
  it('follows a change to the network of the node: the old one is stopped first', () => {
    assert.deepEqual(typesOf(planOf(pod({ hostNetwork: true }), seen([sandbox()]), stopped)), ['KillPod']);
    const ended = seen([sandbox({ state: 'notready' })]);
    assert.deepEqual(typesOf(planOf(pod({ hostNetwork: true }), ended, stopped)), ['RunPodSandbox']);
  });
});

describe('plan: once a regular container has started', () => {
  const p = pod({ initContainers: [init('a'), side] });
  it('ordinary init containers do not run again, whatever became of them', () => {
    const observed = seen(
      [sandbox()],
      [instance('main', 'running'), instance('side', 'running'), instance('a', 'exited', { exitCode: 1 })],
    );
    assert.deepEqual(planOf(p, observed), { actions: [], waits: [] });
  });
  it('a sidecar that ended starts again, also under Never', () => {
    const observed = seen([sandbox()], [instance('side', 'exited'), instance('main', 'running')]);
    assert.deepEqual(typesOf(planOf({ ...p, spec: { ...p.spec, restartPolicy: 'Never' } }, observed)), ['StartContainer side']);
  });
  it('when nothing runs and nothing starts the sidecars are stopped with the pod', () => {
    const observed = seen([sandbox()], [instance('main', 'exited'), instance('side', 'running')]);
    assert.deepEqual(typesOf(planOf({ ...p, spec: { ...p.spec, restartPolicy: 'Never' } }, observed)), ['KillPod']);
  });
});

describe('plan: sidecars', () => {
  const p = pod({ initContainers: [{ ...side, startupProbe: {} }, init('b')] });
  const running = seen([sandbox()], [instance('side', 'running')]);
  const killed = (over: Partial<PlanInput>, observed = running) => {
    const [kill, ...more] = planOf(p, observed, over).actions;
    assert.equal(more.length, 0, 'nothing else goes on');
    return kill?.type === 'KillContainer' && [kill.message, kill.thenStart];
  };
  it('whose startup probe failed are stopped and start again', () => {
    assert.deepEqual(killed(probes('Success', 'Failure')), ['Init container side failed startup probe, will be restarted', true]);
  });
  it('whose liveness probe failed, too', () => {
    assert.deepEqual(killed(probes('Failure', 'Success')), ['Init container side failed liveness probe, will be restarted', true]);
  });
  it('of another definition, too', () => {
    const old = seen([sandbox()], [instance('side', 'running', { hash: 'other' })]);
    assert.deepEqual(killed({}, old), ['Init container side definition changed, will be restarted', true]);
  });
  it('that have not started hold the next one back, those that have do not', () => {
    assert.deepEqual(typesOf(planOf(p, running, probes('Success', 'Unknown'))), []);
    assert.deepEqual(typesOf(planOf(p, running, probes('Success', 'Success'))), ['StartContainer b']);
  });
});

describe('plan: init containers in odd states', () => {
  const p = pod({ initContainers: [init('a')] });
  it('one that was made and never ran starts again', () => {
    assert.deepEqual(typesOf(planOf(p, seen([sandbox()], [instance('a', 'created')]))), ['StartContainer a']);
  });
  it('one in an unknown state is stopped and started again, under Never the pod ends', () => {
    const observed = seen([sandbox()], [instance('a', 'unknown')]);
    assert.deepEqual(typesOf(planOf(p, observed)), ['KillContainer a']);
    assert.deepEqual(typesOf(planOf({ ...p, spec: { ...p.spec, restartPolicy: 'Never' } }, observed)), ['KillPod']);
  });
  it('one that ended for want of memory has failed, though its code is 0', () => {
    const oom = instance('a', 'exited');
    const observed = seen([sandbox()], [{ ...oom, status: { ...oom.status, reason: 'OOMKilled' } }]);
    assert.deepEqual(typesOf(planOf({ ...p, spec: { ...p.spec, restartPolicy: 'Never' } }, observed)), ['KillPod']);
  });
});

describe('plan: ephemeral containers', () => {
  const p = pod({ ephemeralContainers: [{ name: 'debug', image: 'i' }] });
  it('start beside the others, while init containers still run too, and never again', () => {
    assert.deepEqual(typesOf(planOf(p, seen([sandbox()], [instance('main', 'running')]))), ['StartContainer debug']);
    const withInit = { ...p, spec: { ...p.spec, initContainers: [init('a')] } };
    assert.deepEqual(typesOf(planOf(withInit, seen([sandbox()], [instance('a', 'running')]))), ['StartContainer debug']);
    const ended = seen([sandbox()], [instance('debug', 'exited', { exitCode: 1 }), instance('main', 'running')]);
    assert.deepEqual(planOf(p, ended), { actions: [], waits: [] });
  });
});
