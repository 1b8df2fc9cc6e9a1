import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodStatus } from '../api/types.ts';
import { statusPatch } from './status-patch.ts';

test('names only what differs; lists that the server merges go by their key', () => {
  const ready = { type: 'Ready', status: 'False' as const, reason: 'ContainersNotReady', message: 'x' };
  const others = { type: 'Gate', status: 'True' as const };
  const from: PodStatus = { phase: 'Pending', conditions: [ready, others], podIPs: [{ ip: '10.0.0.1' }], message: 'old' };
  const to: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }, others], podIPs: [{ ip: '10.0.0.2' }] };
  assert.deepEqual(statusPatch(from, to), {
    phase: 'Running',
    message: null,
    conditions: [{ type: 'Ready', status: 'True', reason: null, message: null }],
    podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.1' }],
  });
});

test('nothing for equal statuses; container statuses are replaced as a whole', () => {
  const status = { name: 'c', ready: true, restartCount: 0, image: 'i', imageID: 'i' };
  assert.equal(statusPatch({ phase: 'Running' }, { phase: 'Running' }), undefined);
  assert.deepEqual(statusPatch({ containerStatuses: [status] }, { containerStatuses: [{ ...status, restartCount: 1 }] }), {
    containerStatuses: [{ ...status, restartCount: 1 }],
  });
  assert.deepEqual(statusPatch({}, { conditions: [{ type: 'Ready', status: 'True' }] }), {
    conditions: [{ type: 'Ready', status: 'True' }],
  });
});

test('what is gone from a map is named, at every depth; the rest of the map is not', () => {
  const from = { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2' } }, allocatedResources: { cpu: '1' } };
  const to = { resources: { requests: { cpu: '2', memory: '1Gi' } }, allocatedResources: { cpu: '2', memory: '1Gi' } };
  assert.deepEqual(statusPatch(from, to), {
    resources: { requests: { cpu: '2' }, limits: null },
    allocatedResources: { cpu: '2', memory: '1Gi' },
  });
  assert.equal(statusPatch(to, structuredClone(to)), undefined);
});
