import assert from 'node:assert/strict';
import { test } from 'node:test';
import { record } from '../../test/support/status-fixtures.ts';
import type { ContainerStatus } from '../cri/types.ts';
import type { TailReader } from '../host/tail.ts';
import { joinMessages, lastLogText, terminationMessage } from './termination-message.ts';

const enoent = Object.assign(new Error("ENOENT: no such file or directory, open '/x'"), { code: 'ENOENT' });
const filesWith = (files: Record<string, string | Error>): TailReader => ({
  async readTail(path, max) {
    const found = files[path] ?? enoent;
    if (found instanceof Error) throw found;
    const data = Buffer.from(found);
    return { data: data.subarray(Math.max(0, data.length - max)), cut: data.length > max };
  },
});
const ended = (over: Partial<ContainerStatus> & { policy?: string } = {}): ContainerStatus => ({
  ...record('a', { state: 'exited', exitCode: 1 }).status,
  annotations: {
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': over.policy ?? 'File',
  },
  mounts: [{ containerPath: '/dev/termination-log', hostPath: '/msg' }],
  logPath: '/log',
  ...over,
});
const log = (...texts: string[]) => texts.map((t) => `2030-01-02T03:04:05.000000001Z stdout F ${t}\n`).join('');

test('the file is the message, at most its last 4096 bytes', async () => {
  assert.equal(await terminationMessage(ended(), filesWith({ '/msg': 'bye' })), 'bye');
  assert.equal((await terminationMessage(ended(), filesWith({ '/msg': 'x'.repeat(5000) }))).length, 4096);
});

test('only containers that have ended say something, and only by a mounted path', async () => {
  const files = filesWith({ '/msg': 'bye' });
  assert.equal(await terminationMessage(ended({ state: 'running' }), files), '');
  assert.equal(await terminationMessage(ended({ mounts: [] }), files), '');
  assert.equal(await terminationMessage(ended({ annotations: {} }), files), '');
});

test('a path without a slash counts from the root', async () => {
  const annotations = { 'io.kubernetes.container.terminationMessagePath': 'dev/termination-log' };
  assert.equal(await terminationMessage(ended({ annotations }), filesWith({ '/msg': 'bye' })), 'bye');
});

test('an unreadable file is said; a missing one is nothing', async () => {
  const loop = Object.assign(new Error('ELOOP: too many symbolic links'), { code: 'ELOOP' });
  assert.equal(
    await terminationMessage(ended(), filesWith({ '/msg': loop })),
    'Error on reading termination log /msg: ELOOP: too many symbolic links',
  );
  assert.equal(await terminationMessage(ended(), filesWith({})), '');
});

test('the log speaks for a failed container with an empty file, when its policy lets it', async () => {
  const files = filesWith({ '/msg': '', '/log': log('one', 'two') });
  const policy = 'FallbackToLogsOnError';
  assert.equal(await terminationMessage(ended({ policy }), files), 'one\ntwo\n');
  assert.equal(await terminationMessage(ended({ policy, mounts: [] }), files), 'one\ntwo\n');
  assert.equal(await terminationMessage(ended(), files), '');
  assert.equal(await terminationMessage(ended({ policy, exitCode: 0 }), files), '');
  assert.equal(await terminationMessage(ended({ policy, reason: 'ContainerCannotRun' }), files), '');
  assert.match(await terminationMessage(ended({ policy }), filesWith({})), /^Error on reading termination message from logs: ENOENT/);
});

test('of a log: the last 80 lines, at most 2048 bytes', () => {
  const many = log(...Array.from({ length: 200 }, (_, i) => `line ${i}`));
  const text = lastLogText(Buffer.from(many), false);
  assert.ok(text.startsWith('line 120\n') && text.endsWith('line 199\n'));
  assert.equal(lastLogText(Buffer.from(log('y'.repeat(3000))), false).length, 2048);
});

test('of a log: a line that the window cuts is left out, unless it is all there is', () => {
  assert.equal(lastLogText(Buffer.from(`of a line\n${log('next')}`), true), 'next\n');
  assert.equal(lastLogText(Buffer.from('z'.repeat(100)), true), 'z'.repeat(100));
});

test('of a log: partial lines are joined, other lines left out, characters never cut', () => {
  const partial = '2030-01-02T03:04:05Z stderr P he\n2030-01-02T03:04:05Z stderr F llo\nnonsense\n';
  assert.equal(lastLogText(Buffer.from(partial), false), 'hello\n');
  assert.ok(!lastLogText(Buffer.from(log('ä'.repeat(2000))), false).includes('\ufffd'));
});

test('messages are joined with the runtime first', () => {
  assert.equal(joinMessages('oom', 'bye'), 'oom: bye');
  assert.equal(joinMessages('', 'bye'), 'bye');
  assert.equal(joinMessages('oom', ''), 'oom');
});
