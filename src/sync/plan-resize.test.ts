import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instance, main, planOf, pod, sandbox, seen, typesOf } from '../../test/support/plan-fixtures.ts';
import type { PodResourceInfo } from '../api/allocation.ts';
import type { Container, PodSpec } from '../api/types.ts';

const gates = { podLevel: true, initContainers: true };
const size = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const c = (name: string, cpu: string, memory: string, more: Partial<Container> = {}): Container => ({
  ...main,
  name,
  resources: size(cpu, memory),
  ...more,
});
const running = (...names: string[]) =>
  seen(
    [sandbox()],
    names.map((name) => instance(name, 'running')),
  );
const restart = (...resources: string[]) => ({
  resizePolicy: resources.map((resourceName) => ({ resourceName, restartPolicy: 'RestartContainer' })),
});

function resizeOf(spec: Partial<PodSpec>, actuated: PodResourceInfo | undefined, observed = running('a', 'b')) {
  const { actions } = planOf(pod(spec), observed, { resize: { gates, actuated, due: false } });
  const [action] = actions;
  return action?.type === 'ResizePod' ? action : actions;
}
const names = (list: readonly { name: string }[]) => list.map((u) => u.name);

describe('plan: in-place resize', () => {
  const ab = { containers: [c('a', '1', '1Gi'), c('b', '1', '1Gi')] };

  it('leaves a pod alone that has what it is allocated', () => {
    const actuated = { containers: { a: size('1000m', '1024Mi'), b: size('1', '1Gi') } };
    assert.deepEqual(resizeOf(ab, actuated), []);
    assert.deepEqual(planOf(pod(ab), running('a', 'b')).actions, [], 'and one whose resizes are not looked at');
  });

  it('updates what runs: decreases before increases, each resource in its own order', () => {
    const actuated = { containers: { a: size('500m', '2Gi'), b: size('2', '512Mi') } };
    const resize = resizeOf(ab, actuated);
    assert.ok(!Array.isArray(resize));
    assert.deepEqual(
      [names(resize.cpu), names(resize.memory)],
      [
        ['b', 'a'],
        ['a', 'b'],
      ],
    );
    assert.deepEqual([resize.podLevel, resize.starts, resize.sandboxId], [false, false, 's0']);
    assert.deepEqual(resize.cpu[0]?.desired, { cpuRequest: 1000, cpuLimit: 1000, memoryRequest: 2 ** 30, memoryLimit: 2 ** 30 });
  });

  it('goes by the request where the limit stays', () => {
    const spec = { containers: [{ ...main, name: 'a', resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } }] };
    const resize = resizeOf(spec, { containers: { a: { requests: { cpu: '2' }, limits: { cpu: '2' } } } }, running('a'));
    assert.ok(!Array.isArray(resize));
    assert.deepEqual([names(resize.cpu), names(resize.memory)], [['a'], []]);
  });

  it('restarts a container only for the resource that its policy names', () => {
    const spec = { containers: [c('a', '1', '1Gi', restart('memory')), c('b', '1', '1Gi')] };
    const byCpu = resizeOf(spec, { containers: { a: size('2', '1Gi'), b: size('1', '1Gi') } });
    assert.ok(!Array.isArray(byCpu));
    const { actions } = planOf(pod({ ...spec, restartPolicy: 'Never' }), running('a', 'b'), {
      resize: { gates, due: false, actuated: { containers: { a: size('1', '2Gi'), b: size('2', '1Gi') } } },
    });
    assert.deepEqual(typesOf({ actions, waits: [] }), ['KillContainer a'], 'the update of the other one comes after the kill');
    const [kill] = actions;
    assert.ok(kill?.type === 'KillContainer' && kill.thenStart);
    assert.equal(kill.message, 'Container a resize requires restart');
  });

  it('sizes the pod before a container that starts with another size', () => {
    const spec = { containers: [c('a', '1', '1Gi', restart('memory')), c('b', '1', '1Gi')] };
    const actuated = { containers: { a: size('1', '2Gi'), b: size('1', '1Gi') } };
    const killed = seen([sandbox()], [instance('a', 'exited'), instance('b', 'running')]);
    const again = { mustStart: new Set(['a']) };
    const first = planOf(pod(spec), killed, { ...again, resize: { gates, actuated, due: false } });
    assert.deepEqual(first.actions, [{ type: 'ResizePod', sandboxId: 's0', memory: [], cpu: [], podLevel: false, starts: true }]);
    assert.deepEqual(typesOf(planOf(pod(spec), killed, again)), ['StartContainer a'], 'once it was tried');
  });

  it('a sidecar and a running init container are resized, too; others start with their size', () => {
    const sidecar = c('a', '1', '1Gi', { restartPolicy: 'Always' });
    const spec = { initContainers: [sidecar, c('b', '1', '1Gi')], containers: [c('later', '1', '1Gi')] };
    const actuated = { containers: { a: size('2', '1Gi'), b: size('2', '1Gi'), later: size('2', '1Gi') } };
    const resize = resizeOf(spec, actuated);
    assert.ok(!Array.isArray(resize));
    assert.deepEqual(names(resize.cpu).sort(), ['a', 'b']);
    const { actions } = planOf(pod(spec), running('a', 'b'), {
      resize: { gates: { ...gates, initContainers: false }, actuated, due: false },
    });
    assert.ok(actions[0]?.type === 'ResizePod');
    assert.deepEqual(names(actions[0].cpu), ['a']);
  });

  it("changes of the pod's own resources reach containers without limits of their own", () => {
    const spec = { containers: [{ ...main, name: 'a' }, c('b', '1', '1Gi')], resources: size('4', '4Gi') };
    const before = { containers: { a: { limits: { cpu: '2', memory: '4Gi' } }, b: size('1', '1Gi') }, pod: size('2', '4Gi') };
    const resize = resizeOf(spec, before);
    assert.ok(!Array.isArray(resize));
    assert.deepEqual([resize.podLevel, names(resize.cpu), names(resize.memory)], [true, ['a'], []]);
    const off = planOf(pod(spec), running('a', 'b'), {
      resize: { gates: { ...gates, podLevel: false }, due: false, actuated: { containers: { b: size('1', '1Gi') } } },
    });
    assert.deepEqual(off.actions, []);
  });

  it("looks at the pod's group where a resize was left unfinished", () => {
    const actuated = { containers: { a: size('1', '1Gi'), b: size('1', '1Gi') } };
    const { actions } = planOf(pod(ab), running('a', 'b'), { resize: { gates, actuated, due: true } });
    assert.deepEqual(actions, [{ type: 'ResizePod', sandboxId: 's0', memory: [], cpu: [], podLevel: false, starts: true }]);
  });

  it('waits until what has to stop is stopped', () => {
    const actuated = { containers: { a: size('2', '1Gi'), b: size('1', '1Gi') } };
    const failing = { probe: () => 'Failure' as const, resize: { gates, actuated, due: false } };
    assert.deepEqual(typesOf(planOf(pod(ab), running('a', 'b'), failing)), ['KillContainer a', 'KillContainer b']);
  });
});
