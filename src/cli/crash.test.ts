import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
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

test('a rejection that nobody caught ends the process with its culprit, and nothing of the log is lost', async () => {
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    const { createKlog } = await import(${url('../observe/klog.ts')});
    const { crashOnUncaught } = await import(${url('./crash.ts')});
    const log = createKlog({ format: 'text', verbosity: 0, now: () => 0 });
    crashOnUncaught(log);
    for (let i = 0; i < 500; i++) log.info('Line', { i });
    Promise.reject(new Error('nobody caught this'));
    process.stdin.resume();`;
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], (error, _out, err) => resolve({ code: error?.code, stderr: err }));
  });
  assert.equal(code, 2);
  assert.match(stderr, /"Line" i=499\n/);
  assert.match(stderr, /"The agent crashed" err="nobody caught this" culprit="[^"]+" origin="unhandledRejection" stack=</);
});
