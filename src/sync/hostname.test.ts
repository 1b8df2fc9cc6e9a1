import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../api/types.ts';
import { kernelHostname, podHostname } from './hostname.ts';

function hostnameOf(spec: Partial<PodSpec>, name = 'web-0') {
  return podHostname({ metadata: { name, namespace: 'shop', uid: 'u' }, spec: { containers: [], ...spec } }, 'cluster.local');
}

describe('podHostname', () => {
  it('is the override, else the hostname, else the name', () => {
    assert.deepEqual(hostnameOf({}), { hostname: 'web-0', domain: '' });
    assert.deepEqual(hostnameOf({ hostname: 'h', subdomain: 'sub' }), { hostname: 'h', domain: 'sub.shop.svc.cluster.local' });
    assert.deepEqual(hostnameOf({ hostname: 'h', subdomain: 'sub', hostnameOverride: 'a.b.c' }), { hostname: 'a.b.c', domain: '' });
  });
  it('is cut to 63 characters without a trailing dash or dot', () => {
    assert.equal(hostnameOf({}, `${'a'.repeat(60)}-.-${'b'.repeat(20)}`).hostname, 'a'.repeat(60));
    assert.equal(hostnameOf({}, 'c'.repeat(70)).hostname.length, 63);
  });
  for (const spec of [
    { hostname: 'Upper' },
    { hostname: 'a.b' },
    { subdomain: 'a.b' },
    { hostnameOverride: 'a_b' },
    { hostnameOverride: '' },
  ]) {
    it(`refuses ${JSON.stringify(spec)}`, () => assert.throws(() => hostnameOf(spec), { code: 'ConfigPodSandboxError' }));
  }
});

describe('kernelHostname', () => {
  it('is the full name when asked for and short enough', () => {
    assert.equal(kernelHostname({ hostname: 'h', domain: 'd.e' }, true), 'h.d.e');
    assert.equal(kernelHostname({ hostname: 'h', domain: 'd.e' }, undefined), 'h');
    assert.equal(kernelHostname({ hostname: 'h', domain: '' }, true), 'h');
    assert.throws(
      () => kernelHostname({ hostname: 'h'.repeat(60), domain: 'd.svc' }, true),
      /is too long \(64 characters is the max, 66 characters requested\)/,
    );
  });
});
