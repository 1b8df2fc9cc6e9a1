import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, ResourceRequirements } from '../api/types.ts';
import { fsUserOf } from './fs-user.ts';
import { memoryLimit } from './memory-volume.ts';

const MiB = 1024n * 1024n;
const pod = (...resources: ResourceRequirements[]): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: resources.map((r, i) => ({ name: `c${i}`, resources: r })) },
});
const limit = (memory: string): ResourceRequirements => ({ limits: { memory } });

describe('memoryLimit', () => {
  it('is the least of node, pod and volume', () => {
    const node = { memory: '100Mi' };
    assert.equal(memoryLimit(pod({}), node), 100n * MiB);
    assert.equal(memoryLimit(pod({}), node, '10Mi'), 10n * MiB);
    assert.equal(memoryLimit(pod({}), node, '1Gi'), 100n * MiB);
    assert.equal(memoryLimit(pod({}), node, '0'), 100n * MiB);
    assert.equal(memoryLimit(pod(limit('20Mi'), limit('30Mi')), node), 50n * MiB);
    assert.equal(memoryLimit(pod(limit('20Mi'), limit('30Mi')), node, '8Mi'), 8n * MiB);
    assert.equal(memoryLimit(pod(limit('200Mi')), node), 100n * MiB);
  });

  it('does not take the limit of some containers for the pod', () => {
    assert.equal(memoryLimit(pod(limit('20Mi'), {}), { memory: '100Mi' }), 100n * MiB);
    const whole = pod({}, {});
    whole.spec.resources = { limits: { memory: '40Mi' } };
    assert.equal(memoryLimit(whole, { memory: '100Mi' }), 40n * MiB);
    assert.equal(memoryLimit(pod({}), {}), undefined);
  });
});

describe('fsUserOf', () => {
  const withUsers = (ofPod: number | undefined, ...users: (number | undefined)[]): Pod => ({
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: {
      ...(ofPod === undefined ? {} : { securityContext: { runAsUser: ofPod } }),
      initContainers: [{ name: 'i', ...(users[0] === undefined ? {} : { securityContext: { runAsUser: users[0] } }) }],
      containers: users
        .slice(1)
        .map((runAsUser, i) => ({ name: `c${i}`, ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }) })),
    },
  });

  it('is the user that all share', () => {
    assert.equal(fsUserOf(withUsers(undefined, 5, 5)), 5);
    assert.equal(fsUserOf(withUsers(7, undefined, undefined)), 7);
    assert.equal(fsUserOf(withUsers(7, undefined, 7)), 7);
    assert.equal(fsUserOf(withUsers(0, undefined, undefined)), 0);
    assert.equal(fsUserOf(withUsers(7, 8, undefined)), undefined);
    assert.equal(fsUserOf(withUsers(undefined, 5, undefined)), undefined);
    assert.equal(fsUserOf(withUsers(undefined, undefined, undefined)), undefined);
  });
});
