import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type RuntimeRecord, restartAllCleanedUp, restartsAfterExit, shouldRestart, shouldRestartAllContainers } from './restart.ts';
import type { Container, Pod, RestartPolicy } from './types.ts';

const podOf = (container: Container, restartPolicy?: RestartPolicy): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [container], ...(restartPolicy ? { restartPolicy } : {}) },
});
const rec = (name: string, state: RuntimeRecord['state'], exitCode = 0): RuntimeRecord => ({ name, state, status: { exitCode } });
const restartAll: Container = {
  name: 'a',
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
};

test('the pod policy decides where the container has none, and defaults to Always', () => {
  const c = { name: 'a' };
  assert.equal(restartsAfterExit(c, {}, 0), true);
  assert.equal(restartsAfterExit(c, { restartPolicy: 'OnFailure' }, 0), false);
  assert.equal(restartsAfterExit(c, { restartPolicy: 'OnFailure' }, 1), true);
  assert.equal(restartsAfterExit(c, { restartPolicy: 'Never' }, 1), false);
});

test('rules count only beside a container policy; a rule without exit codes matches nothing', () => {
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [7] } }];
  assert.equal(restartsAfterExit({ name: 'a', restartPolicyRules: rules }, { restartPolicy: 'Never' }, 7), false);
  assert.equal(restartsAfterExit({ name: 'a', restartPolicy: 'Never', restartPolicyRules: rules }, { restartPolicy: 'Never' }, 7), true);
  assert.equal(
    restartsAfterExit({ name: 'a', restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] }, { restartPolicy: 'Always' }, 7),
    false,
  );
});

test('the newest record of the name decides', () => {
  const c = { name: 'a' };
  const pod = podOf(c, 'OnFailure');
  assert.equal(shouldRestart(pod, c, [rec('b', 'running'), rec('a', 'exited', 0), rec('a', 'exited', 1)], false), false);
  assert.equal(shouldRestart(pod, c, [rec('a', 'created')], false), true);
  assert.equal(shouldRestart(pod, c, [], false), true);
});

test('all containers restart while the condition says so, or when an end matches such a rule', () => {
  const pod = podOf(restartAll, 'Never');
  assert.equal(shouldRestartAllContainers(pod, [rec('a', 'exited', 42)], undefined), true);
  assert.equal(shouldRestartAllContainers(pod, [rec('a', 'exited', 41)], undefined), false);
  assert.equal(shouldRestartAllContainers(pod, [], { conditions: [{ type: 'AllContainersRestarting', status: 'True' }] }), true);
  const ended = {
    containerStatuses: [{ name: 'a', ready: false, restartCount: 0, image: '', imageID: '', state: { terminated: { exitCode: 42 } } }],
  };
  assert.equal(shouldRestartAllContainers(pod, [rec('a', 'exited', 1)], ended), true);
  assert.equal(shouldRestartAllContainers(pod, [rec('a', 'running')], ended), false, 'it has begun anew');
  assert.equal(restartAllCleanedUp(pod, []), true);
  assert.equal(restartAllCleanedUp(pod, [rec('a', 'exited', 42)]), false);
});

const anyContainer = fc.record(
  {
    name: fc.constant('a'),
    restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never', 'Odd', ''),
    restartPolicyRules: fc.array(
      fc.record(
        {
          action: fc.constantFrom('Restart', 'RestartAllContainers', 'Other'),
          exitCodes: fc.record({ operator: fc.constantFrom('In', 'NotIn', 'X'), values: fc.array(fc.integer({ min: -1, max: 3 })) }),
        },
        { requiredKeys: ['action'] },
      ),
    ),
  },
  { requiredKeys: ['name'] },
);
const anyRecords = fc.array(
  fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('created', 'running', 'exited', 'unknown'), fc.integer({ min: -1, max: 3 })),
);

test('property: nothing of a deleted pod restarts, nothing that runs restarts, what never ran does', () => {
  fc.assert(
    fc.property(
      anyContainer,
      fc.constantFrom<RestartPolicy | undefined>('Always', 'OnFailure', 'Never', undefined),
      anyRecords,
      (c, policy, list) => {
        const pod = podOf(c, policy);
        const records = list.map(([name, state, code]) => rec(name, state as RuntimeRecord['state'], code));
        assert.equal(shouldRestart(pod, c, records, true), false);
        const newest = records.find((r) => r.name === 'a');
        const decided = shouldRestart(pod, c, records, false);
        if (newest?.state === 'running') assert.equal(decided, false);
        if (!newest) assert.equal(decided, true);
        if (newest?.state === 'exited') assert.equal(decided, restartsAfterExit(c, pod.spec, newest.status.exitCode));
      },
    ),
  );
});
