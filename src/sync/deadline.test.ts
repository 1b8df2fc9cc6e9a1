import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../api/types.ts';
import { deadlineRemainingMs } from './deadline.ts';

const pod = (activeDeadlineSeconds?: number): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }) },
});

test('the time left counts from the start time of the status', () => {
  const now = Date.parse('2030-01-01T00:00:10Z');
  assert.equal(deadlineRemainingMs(pod(30), '2030-01-01T00:00:00Z', now), 20_000);
  assert.equal(deadlineRemainingMs(pod(5), '2030-01-01T00:00:00Z', now), -5_000);
  assert.equal(deadlineRemainingMs(pod(), '2030-01-01T00:00:00Z', now), undefined);
  assert.equal(deadlineRemainingMs(pod(5), undefined, now), undefined);
});
