import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podWith, time } from '../../test/support/status-fixtures.ts';
import type { PodStatus } from '../api/types.ts';
import { mergeForApi } from './merge.ts';

const failed: PodStatus = {
  phase: 'Failed',
  reason: 'Evicted',
  message: 'm',
  conditions: [
    { type: 'DisruptionTarget', status: 'True', lastTransitionTime: time(1) },
    { type: 'Ready', status: 'True' },
    { type: 'ContainersReady', status: 'True' },
  ],
};
const running = { phase: 'Running', conditions: [{ type: 'x/y', status: 'True' }], resourceClaimStatuses: [{ name: 'c' }] } as PodStatus;
const find = (s: PodStatus, type: string) => s.conditions?.find((c) => c.type === type);

test('a terminal phase and its disruption wait until no container can run', () => {
  const held = mergeForApi(podWith(), running, failed, true, time(9));
  assert.deepEqual([held.phase, held.reason, held.message], ['Running', undefined, undefined]);
  assert.equal(find(held, 'DisruptionTarget'), undefined);
  const sent = mergeForApi(podWith(), running, failed, false, time(9));
  assert.deepEqual([sent.phase, sent.reason], ['Failed', 'Evicted']);
  assert.equal(find(sent, 'DisruptionTarget')?.lastTransitionTime, time(9), 'dated when it is sent');
});

test('a terminal phase is never sent as ready', () => {
  const sent = mergeForApi(podWith(), running, failed, false, time(9));
  assert.deepEqual([find(sent, 'Ready')?.status, find(sent, 'Ready')?.reason], ['False', 'PodFailed']);
  assert.equal(find(sent, 'ContainersReady')?.status, 'False');
});

test('what others own is kept from the API', () => {
  const sent = mergeForApi(podWith(), running, { phase: 'Running', conditions: [{ type: 'x/z', status: 'True' }] }, false, time(9));
  assert.deepEqual(sent.conditions, [{ type: 'x/y', status: 'True' }]);
  assert.deepEqual((sent as Record<string, unknown>)['resourceClaimStatuses'], [{ name: 'c' }]);
});
