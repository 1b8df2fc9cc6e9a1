import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { podWith } from '../../test/support/status-fixtures.ts';
import type { ContainerStatus, PodCondition, PodPhase } from '../api/types.ts';
import { allContainersRestartingCondition, containersReadyCondition, initializedCondition, readyCondition } from './conditions.ts';

const status = (name: string, ready: boolean, extra: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  ready,
  restartCount: 0,
  image: '',
  imageID: '',
  ...extra,
});

test('unknown and unready containers are listed by name, in spec order', () => {
  const pod = podWith({ initContainers: [{ name: 's', restartPolicy: 'Always' }], containers: [{ name: 'b' }, { name: 'a' }] });
  const condition = containersReadyCondition(pod, [status('a', false), status('s', false)], 'Running');
  assert.equal(condition.message, 'containers with unknown status: [b], containers with unready status: [s a]');
  assert.equal(condition.reason, 'ContainersNotReady');
});

test('readiness gates are judged once all containers are ready, and each one is named', () => {
  const pod = podWith({ readinessGates: [{ conditionType: 'x/one' }, { conditionType: 'x/two' }] });
  const gate: PodCondition = { type: 'x/two', status: 'Unknown' };
  const condition = readyCondition(pod, [gate], [status('a', true)], 'Running');
  assert.equal(
    condition.message,
    'corresponding condition of pod readiness gate "x/one" does not exist., the status of pod readiness gate "x/two" is not "True", but Unknown',
  );
  assert.equal(readyCondition(pod, [gate], [status('a', false)], 'Running').reason, 'ContainersNotReady');
});

test('Initialized stays True while all containers restart', () => {
  const pod = podWith({ initContainers: [{ name: 'i' }] });
  const list = [status('i', false, { state: { waiting: {} } }), status('a', false, { state: { waiting: {} } })];
  assert.equal(initializedCondition(pod, undefined, list, 'Pending').status, 'False');
  assert.equal(initializedCondition(pod, { conditions: [{ type: 'Initialized', status: 'True' }] }, list, 'Pending').status, 'True');
});

test('AllContainersRestarting ends when nothing is left in the runtime', () => {
  const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }];
  const pod = podWith({ containers: [{ name: 'a', restartPolicy: 'Never', restartPolicyRules: rules }] });
  const exited = { name: 'a', state: 'exited' as const, status: { exitCode: 1 } };
  const started = allContainersRestartingCondition(pod, [exited], undefined, 'Running');
  assert.equal(started.status, 'True');
  assert.equal(allContainersRestartingCondition(pod, [], { conditions: [started] }, 'Running').status, 'False');
});

test('property: Ready implies ContainersReady, and a terminal phase is never ready', () => {
  const statuses = fc.array(fc.tuple(fc.constantFrom('a', 'b', 's', 'z'), fc.boolean()), { maxLength: 5 });
  const phases = fc.constantFrom<PodPhase>('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown');
  fc.assert(
    fc.property(statuses, phases, fc.option(fc.constantFrom('True', 'False', 'Unknown')), (list, phase, gate) => {
      const pod = podWith({
        initContainers: [{ name: 's', restartPolicy: 'Always' }],
        containers: [{ name: 'a' }, { name: 'b' }],
        readinessGates: [{ conditionType: 'g' }],
      });
      const known = list.map(([name, ready]) => status(name, ready));
      const conditions: PodCondition[] = gate ? [{ type: 'g', status: gate as PodCondition['status'] }] : [];
      const ready = readyCondition(pod, conditions, known, phase);
      const containers = containersReadyCondition(pod, known, phase);
      if (ready.status === 'True') {
        assert.equal(containers.status, 'True');
        assert.equal(gate, 'True');
      }
      if (phase === 'Failed') assert.equal(containers.status, 'False');
      assert.equal(containers.status === 'False', Boolean(containers.reason));
    }),
  );
});
