import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../api/types.ts';
import { HandlerFeatures, type HandlerFeaturesDeps } from './handler-features.ts';

const pod = (runtimeClassName?: string): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], ...(runtimeClassName === undefined ? {} : { runtimeClassName }) },
});

function features(over: Partial<HandlerFeaturesDeps> = {}) {
  return new HandlerFeatures({
    handlers: () => [
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
      { name: 'plain', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
      { name: 'silent' },
      { name: 'strong', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
    ],
    handlerOf: async (name = '') => {
      if (name === 'gone') throw new Error('no such class');
      return name.replace('class-', '');
    },
    recursiveReadOnlyMounts: true,
    ...over,
  });
}

test('recursive read-only mounts are there where the handler of the pod has them', async () => {
  const f = features();
  assert.equal(await f.recursiveReadOnly(pod()), true);
  assert.equal(await f.recursiveReadOnly(pod('class-plain')), false);
  assert.equal(await f.recursiveReadOnly(pod('class-silent')), false);
  assert.equal(await f.recursiveReadOnly(pod('class-strong')), true);
  await assert.rejects(f.recursiveReadOnly(pod('gone')), /no such class/);
});

test('what is known without asking: the default handler at once, others once they were looked up', async () => {
  const f = features();
  assert.equal(f.knownRecursiveReadOnly(pod()), true);
  assert.equal(f.knownRecursiveReadOnly(pod('class-strong')), false);
  await f.recursiveReadOnly(pod('class-strong'));
  assert.equal(f.knownRecursiveReadOnly(pod('class-strong')), true);
});

test('a runtime that tells nothing of its handlers, and the gate, give none', async () => {
  assert.equal(await features({ handlers: () => [] }).recursiveReadOnly(pod()), false);
  assert.equal(await features({ recursiveReadOnlyMounts: false }).recursiveReadOnly(pod()), false);
});
