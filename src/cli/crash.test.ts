import assert from 'node:assert/strict';
import { test } from 'node:test';
import { culprit } from './crash.ts';

test('the culprit is the first frame of our own', () => {
  const error = new Error('x');
  error.stack = [
    'Error: x',
    '    at processTicksAndRejections (node:internal/process/task_queues:104:5)',
    '    at Client.call (/opt/k/node_modules/@grpc/grpc-js/build/src/client.js:33:19)',
    '    at async PodWorker.sync (file:///opt/k/src/pods/worker.ts:123:7)',
  ].join('\n');
  assert.equal(culprit(error), 'async PodWorker.sync (src/pods/worker.ts:123)');
  error.stack = 'Error: x\n    at file:///opt/k/src/main.ts:3:1';
  assert.equal(culprit(error), 'top level (src/main.ts:3)');
  assert.equal(culprit('text'), 'unknown');
});
