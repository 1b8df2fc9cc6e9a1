import assert from 'node:assert/strict';
import test from 'node:test';
import { nodeFacts } from '../../test/support/node-facts.ts';
import type { NodeCondition } from '../kube/types.ts';
import { nodeConditions } from './conditions.ts';

const earlier = '2025-12-31T23:00:00Z';
const now = '2026-01-01T00:00:00Z';
const reasons = (notes: readonly { reason: string }[]) => notes.map((n) => n.reason);

test('a new node gets its four conditions in order, and the events of the first look', () => {
  const { conditions, notes } = nodeConditions([], nodeFacts());
  assert.deepEqual(
    conditions.map((c) => [c.type, c.status, c.reason, c.message]),
    [
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ],
  );
  assert.ok(conditions.every((c) => c.lastHeartbeatTime === now && c.lastTransitionTime === now));
  assert.deepEqual(reasons(notes), ['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
  assert.equal(notes[0]?.message, 'Node n1 status is now: NodeHasSufficientMemory');
});

test('pressure and its end flip the condition once, with its time and its event', () => {
  const before = nodeConditions([], nodeFacts({ at: earlier })).conditions;
  const on = nodeConditions(before, nodeFacts({ pressures: { MemoryPressure: true, DiskPressure: true, PIDPressure: true } }));
  assert.deepEqual(
    on.conditions.slice(0, 3).map((c) => [c.status, c.reason, c.message, c.lastTransitionTime]),
    [
      ['True', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available', now],
      ['True', 'KubeletHasDiskPressure', 'kubelet has disk pressure', now],
      ['True', 'KubeletHasInsufficientPID', 'kubelet has insufficient PID available', now],
    ],
  );
  assert.deepEqual(reasons(on.notes), ['NodeHasInsufficientMemory', 'NodeHasDiskPressure', 'NodeHasInsufficientPID']);
  const still = nodeConditions(
    on.conditions,
    nodeFacts({ at: earlier, pressures: { MemoryPressure: true, DiskPressure: true, PIDPressure: true } }),
  );
  assert.deepEqual(still.notes, []);
  assert.equal(still.conditions[0]?.lastTransitionTime, now);
  assert.equal(still.conditions[0]?.lastHeartbeatTime, earlier);
  assert.deepEqual(reasons(nodeConditions(on.conditions, nodeFacts()).notes), [
    'NodeHasSufficientMemory',
    'NodeHasNoDiskPressure',
    'NodeHasSufficientPID',
  ]);
});

test('Ready names one reason bare, several in brackets, each once', () => {
  const ready = (notReady: string[], warning?: string) => nodeConditions([], nodeFacts({ notReady, warning })).conditions[3];
  assert.deepEqual([ready(['a'])?.status, ready(['a'])?.reason, ready(['a'])?.message], ['False', 'KubeletNotReady', 'a']);
  assert.equal(ready(['a', 'b', 'a'])?.message, '[a, b]');
  assert.equal(ready([], 'CPU hardcapping unsupported')?.message, 'kubelet is posting ready status. WARNING: CPU hardcapping unsupported');
});

test('a flip of Ready is told, the first value is not; the transition is of the flip', () => {
  const down = nodeConditions([], nodeFacts({ at: earlier, notReady: ['a'] }));
  assert.ok(!reasons(down.notes).includes('NodeNotReady'));
  const other = nodeConditions(down.conditions, nodeFacts({ notReady: ['b'] }));
  assert.equal(other.conditions[3]?.lastTransitionTime, earlier);
  assert.deepEqual(other.notes, []);
  const up = nodeConditions(other.conditions, nodeFacts());
  assert.equal(up.conditions[3]?.lastTransitionTime, now);
  assert.deepEqual(reasons(up.notes), ['NodeReady']);
  assert.deepEqual(reasons(nodeConditions(up.conditions, nodeFacts({ notReady: ['a'] })).notes), ['NodeNotReady']);
});

test('a node that was lost (Unknown) comes back, and conditions of others stay where they are', () => {
  const foreign: NodeCondition = { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' };
  const lost: NodeCondition[] = [foreign, { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: earlier }];
  const { conditions, notes } = nodeConditions(lost, nodeFacts());
  assert.deepEqual(
    conditions.map((c) => c.type),
    ['NetworkUnavailable', 'Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'],
  );
  assert.equal(conditions[0], foreign);
  assert.ok(reasons(notes).includes('NodeReady'));
});
