import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Pod } from '../api/types.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { pem } from './der.ts';
import { PodCertificates, stubRequest } from './pod-certificates.ts';

const pod: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'pod-1' }, spec: { containers: [] } };
const ask = { signerName: 'example.com/s', keyType: 'ED25519', maxExpirationSeconds: 7200, userAnnotations: undefined };
const chain = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';

/** A signer that gives each request the status that the test has set. */
function world(status: () => object) {
  const clock = new SimClock();
  const made: { spec: Record<string, unknown>; metadata: Record<string, unknown> }[] = [];
  const told: string[] = [];
  const api: Pick<KubeApi, 'request'> = {
    async request<T>({ method, path, body }: KubeCall) {
      if (path.endsWith('/serviceaccounts/default')) return { metadata: { name: 'default', uid: 'account-1' } } as T;
      if (method === 'POST') {
        made.push(body as (typeof made)[0]);
        return { metadata: { name: `req-${made.length}` } } as T;
      }
      return { metadata: { name: path.split('/').at(-1) }, spec: {}, status: status() } as T;
    },
  };
  const certificates = new PodCertificates({
    api: api as KubeApi,
    clock,
    random: { float: () => 0 },
    events: { event: (_object, _type, reason, message) => void told.push(`${reason}: ${message}`) },
    nodeName: 'n1',
    nodeUid: () => 'node-1',
  });
  return { clock, made, told, certificates };
}

describe('PodCertificates', () => {
  it('asks once, gives what was issued, and renews it when its time comes', async () => {
    let status: object = {};
    const { clock, made, certificates } = world(() => status);
    const refreshAt = clock.now() + 36_000_000;
    let isOver = false;
    const waiting = assert.rejects(certificates.certificate(pod, 'v/0', ask), /credential bundle is not issued yet/).then(() => {
      isOver = true;
    });
    // The key is made by a thread of Node's, whose time is not the clock's.
    while (!isOver) {
      await clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waiting;
    const issued = (text: string) => ({
      conditions: [{ type: 'Issued', status: 'True' }],
      certificateChain: `said the signer\n${text}\n`,
      beginRefreshAt: new Date(refreshAt).toISOString(),
    });
    status = issued(chain);
    const first = await certificates.certificate(pod, 'v/0', ask);
    assert.equal(first.chain, `${chain}\n`);
    assert.match(first.key, /^-----BEGIN PRIVATE KEY-----/);
    assert.equal((await certificates.certificate(pod, 'v/0', ask)).key, first.key);
    assert.equal(made.length, 1);
    const { stubPKCS10Request, ...spec } = made[0]?.spec ?? {};
    assert.equal(typeof stubPKCS10Request, 'string');
    assert.deepEqual(spec, {
      signerName: 'example.com/s',
      podName: 'web',
      podUID: 'pod-1',
      serviceAccountName: 'default',
      serviceAccountUID: 'account-1',
      nodeName: 'n1',
      nodeUID: 'node-1',
      maxExpirationSeconds: 7200,
    });
    // The signer is slow: what there is serves on.
    await clock.advance(36_000_001);
    status = {};
    assert.equal((await certificates.certificate(pod, 'v/0', ask)).key, first.key);
    status = issued(chain.replace('AAAA', 'BBBB'));
    const second = await certificates.certificate(pod, 'v/0', ask);
    assert.notEqual(second.key, first.key);
    assert.match(second.chain, /BBBB/);
    assert.equal(made.length, 2);
  });

  it('is refused for good when the signer says so', async () => {
    const { made, told, certificates } = world(() => ({
      conditions: [{ type: 'Denied', status: 'True', reason: 'No', message: 'never' }],
    }));
    for (let i = 0; i < 2; i++) {
      await assert.rejects(certificates.certificate(pod, 'v/0', ask), /permanently denied: reason="No" message="never"/);
    }
    assert.deepEqual([made.length, told], [1, ['Denied: PodCertificateRequest shop/req-1 was denied, reason="No", message="never"']]);
    certificates.forgetPod('pod-1');
    await assert.rejects(certificates.certificate(pod, 'v/0', ask));
    assert.equal(made.length, 2);
    await assert.rejects(certificates.certificate(pod, 'v/1', { ...ask, keyType: 'DSA' }), /unknown key type "DSA"/);
  });

  it('proves the key in a form that openssl takes', () => {
    for (const pair of [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('ec', { namedCurve: 'P-384' }),
      generateKeyPairSync('ec', { namedCurve: 'P-521' }),
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ]) {
      const input = pem('CERTIFICATE REQUEST', stubRequest(pair));
      const said = execFileSync('openssl', ['req', '-verify', '-noout', '-text'], {
        input,
        stdio: ['pipe', 'pipe', 'pipe'],
        encoding: 'utf8',
      });
      assert.match(said, /Subject: *\n/);
    }
  });
});
