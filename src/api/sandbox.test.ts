import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SandboxRecord, sandboxVerdict } from './sandbox.ts';
import type { Pod } from './types.ts';

const pod = (hostNetwork = false): Pod => ({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [], hostNetwork } });
const box = (over: Partial<SandboxRecord> = {}): SandboxRecord => ({
  id: 'sb',
  attempt: 3,
  state: 'ready',
  status: { network: { ip: '10.0.0.1' }, namespaceOptions: { network: 'POD' } },
  ...over,
});

test('no sandbox: a first one', () => {
  assert.deepEqual(sandboxVerdict(pod(), []), { changed: true, attempt: 0, oldId: '', message: 'no pod sandbox exists' });
});

test('a ready one with an address is used as it is', () => {
  assert.deepEqual(sandboxVerdict(pod(), [box(), box({ state: 'notready', attempt: 2 })]), { changed: false, attempt: 3, oldId: 'sb' });
});

test('no network block at all keeps the sandbox, an empty address does not', () => {
  assert.equal(sandboxVerdict(pod(), [box({ status: {} })]).changed, false);
  assert.equal(sandboxVerdict(pod(), [box({ status: { network: { ip: '' } } })]).changed, true);
});

test('a changed network mode does not name the old sandbox as its predecessor', () => {
  assert.deepEqual(sandboxVerdict(pod(true), [box()]), {
    changed: true,
    attempt: 4,
    oldId: '',
    message: 'network namespace mode changed and sandbox needs to be recreated',
  });
});
