import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../host/clock.ts';
import { systemRandom } from '../host/random.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { KubeError } from '../kube/errors.ts';
import { silentLogger } from '../observe/log.ts';
import { TrustBundles } from './trust-bundles.ts';

const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----`;
const bundle = (name: string, signerName: string, labels: Record<string, string>, ...certificates: string[]) => ({
  metadata: { name, labels, resourceVersion: '1', uid: name },
  spec: { ...(signerName === '' ? {} : { signerName }), trustBundle: certificates.map(pem).join('\nbetween\n') },
});

function bundlesOf(items: unknown[], served: readonly string[] = ['v1']) {
  const asked: string[] = [];
  const api: KubeApi = {
    async request<T>({ path, query }: KubeCall) {
      asked.push(`${path}${query?.['limit'] === 1 ? '?limit=1' : ''}`);
      const version = /certificates\.k8s\.io\/(\w+)\//.exec(path)?.[1] ?? '';
      if (!served.includes(version)) throw new KubeError('NotFound', path, 'not found', { status: 404 });
      return { metadata: { resourceVersion: '5' }, items } as T;
    },
    stream: async ({ signal, query }) => {
      if (query?.['sendInitialEvents'] !== undefined) throw new KubeError('Invalid', 'watch', 'no streaming lists', { status: 422 });
      return (async function* silent() {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        yield* [];
      })();
    },
  };
  return { asked, bundles: new TrustBundles({ api, clock: systemClock, random: systemRandom, log: silentLogger }) };
}

describe('TrustBundles', () => {
  const items = [
    bundle('plain', '', {}, 'b', 'a', 'b'),
    bundle('s:1', 'example.com/s', { env: 'live' }, 'c'),
    bundle('s:2', 'example.com/s', { env: 'canary' }, 'd', 'c'),
    bundle('t:1', 'example.com/t', { env: 'live' }, 'e'),
  ];

  it('gives each certificate once, by name or by signer and labels', async () => {
    const { bundles } = bundlesOf(items);
    const text = (...certificates: string[]) =>
      certificates
        .map(pem)
        .sort()
        .map((block) => `${block}\n`)
        .join('');
    try {
      assert.equal(await bundles.anchors({ name: 'plain' }), text('a', 'b'));
      assert.equal(await bundles.anchors({ name: 'none' }), undefined);
      const signerName = 'example.com/s';
      assert.equal(await bundles.anchors({ signerName, labelSelector: {} }), text('c', 'd'));
      assert.equal(await bundles.anchors({ signerName, labelSelector: { matchLabels: { env: 'live' } } }), text('c'));
      const notLive = { matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['live'] }] };
      assert.equal(await bundles.anchors({ signerName, labelSelector: notLive }), text('c', 'd'));
      assert.equal(await bundles.anchors({ signerName, labelSelector: undefined }), undefined);
    } finally {
      await bundles.stop();
    }
  });

  it('uses the newest version that the server has, and says so when it has none', async () => {
    const old = bundlesOf(items, ['v1beta1']);
    assert.notEqual(await old.bundles.anchors({ name: 'plain' }), undefined);
    await old.bundles.stop();
    const none = bundlesOf(items, []);
    await assert.rejects(none.bundles.anchors({ name: 'plain' }), /the API server has no ClusterTrustBundles/);
    await none.bundles.stop();
    assert.equal(none.asked.length, 2);
  });
});
