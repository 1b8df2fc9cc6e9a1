import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../api/types.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { KubeError } from '../kube/errors.ts';
import { silentLogger } from '../observe/log.ts';
import { isMirrorOf, MirrorPods, mirrorPod } from './mirrors.ts';

const staticPod = (hash: string): Pod => ({
  metadata: {
    name: 'web-n1',
    namespace: 'default',
    uid: hash,
    annotations: { 'kubernetes.io/config.hash': hash, 'kubernetes.io/config.source': 'file' },
  },
  spec: { containers: [] },
});
const mirrorOf = (pod: Pod, uid: string, over: Partial<Pod['metadata']> = {}): Pod => {
  const made = mirrorPod(pod, 'n1', 'node-uid') as Pod;
  return { ...made, metadata: { ...made.metadata, uid, ...over } };
};
const signal = new AbortController().signal;

function rig(fail?: (call: KubeCall) => KubeError | undefined) {
  const calls: string[] = [];
  const bodies: Record<string, unknown>[] = [];
  const api: KubeApi = {
    async request<T>(call: KubeCall): Promise<T> {
      calls.push(`${call.method} ${call.path}`);
      bodies.push((call.body ?? {}) as Record<string, unknown>);
      const failure = fail?.(call);
      if (failure !== undefined) throw failure;
      return call.body as T;
    },
    stream: () => Promise.reject(new Error('not asked')),
  };
  return { calls, bodies, mirrors: new MirrorPods({ api, log: silentLogger, nodeName: 'n1', nodeUid: () => 'node-uid' }) };
}

test('a mirror carries the hash and belongs to the node', () => {
  const pod = staticPod('h1');
  const mirror = mirrorOf(pod, 'm1');
  assert.equal(mirror.metadata.annotations?.['kubernetes.io/config.mirror'], 'h1');
  assert.deepEqual(mirror.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true }]);
  assert.equal(isMirrorOf(mirror, pod), true);
  assert.equal(isMirrorOf(mirror, staticPod('h2')), false);
});

test('is made once where it is missing, and not while the node has no object', async () => {
  const { calls, mirrors } = rig();
  await mirrors.ensure(staticPod('h1'), signal);
  mirrors.seen([mirrorOf(staticPod('h1'), 'm1')]);
  await mirrors.ensure(staticPod('h1'), signal);
  assert.deepEqual(calls, ['POST /api/v1/namespaces/default/pods']);
  const silent: KubeApi = { request: () => assert.fail('nothing may be sent'), stream: () => assert.fail('nothing may be sent') };
  const none = new MirrorPods({ api: silent, log: silentLogger, nodeName: 'n1', nodeUid: () => undefined });
  await none.ensure(staticPod('h1'), signal);
});

test('one of another hash, or on its way out, is deleted by its UID and made again', async () => {
  for (const old of [mirrorOf(staticPod('h0'), 'm0'), mirrorOf(staticPod('h1'), 'm0', { deletionTimestamp: '2030-01-01T00:00:00Z' })]) {
    const { calls, bodies, mirrors } = rig();
    mirrors.seen([old]);
    await mirrors.ensure(staticPod('h1'), signal);
    assert.deepEqual(calls, ['DELETE /api/v1/namespaces/default/pods/web-n1', 'POST /api/v1/namespaces/default/pods']);
    assert.deepEqual(bodies[0]?.['preconditions'], { uid: 'm0' });
  }
});

test('what nobody wants is swept; a failure is no error of the caller', async () => {
  const { calls, mirrors } = rig(() => new KubeError('Unavailable', 'DELETE', 'away'));
  assert.deepEqual(mirrors.seen([mirrorOf(staticPod('h1'), 'm1')]), ['web-n1_default']);
  assert.deepEqual(mirrors.seen([]), ['web-n1_default'], 'gone is a change too');
  mirrors.seen([mirrorOf(staticPod('h1'), 'm1')]);
  await mirrors.sweep(() => false, signal);
  await mirrors.sweep(() => true, signal);
  assert.deepEqual(calls, ['DELETE /api/v1/namespaces/default/pods/web-n1']);
});
