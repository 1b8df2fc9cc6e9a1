import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProviderResponseError, readResponse, requestJson } from './provider-protocol.ts';

const V1 = 'credentialprovider.kubelet.k8s.io/v1';
const answer = (more: object = {}) =>
  JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: V1, cacheKeyType: 'Registry', ...more });

test('a request holds the image, and of the service account what there is', () => {
  const none = { image: 'reg.io/a', serviceAccountToken: '', serviceAccountAnnotations: new Map<string, string>() };
  assert.deepEqual(JSON.parse(requestJson(V1, none)), { kind: 'CredentialProviderRequest', apiVersion: V1, image: 'reg.io/a' });
  const all = { image: 'reg.io/a', serviceAccountToken: 't', serviceAccountAnnotations: new Map([['k', 'v']]) };
  const sent = JSON.parse(requestJson(V1, all)) as Record<string, unknown>;
  assert.deepEqual([sent['serviceAccountToken'], sent['serviceAccountAnnotations']], ['t', { k: 'v' }]);
});

test('an answer is read', () => {
  const read = readResponse(answer({ cacheDuration: '1m30s', auth: { 'reg.io': { username: 'u', password: 'p' }, none: null } }), V1);
  assert.equal(read.cacheKeyType, 'Registry');
  assert.equal(read.cacheMs, 90_000);
  assert.deepEqual(
    [...read.auth],
    [
      ['reg.io', { username: 'u', password: 'p' }],
      ['none', { username: '', password: '' }],
    ],
  );
  assert.deepEqual(readResponse(answer(), V1), { cacheKeyType: 'Registry', cacheMs: undefined, auth: new Map() });
  assert.equal(readResponse(answer({ cacheDuration: '0s' }), V1).cacheMs, 0);
});

test('an answer that is not of the protocol is refused, and nothing of it is shown', () => {
  const bad = [
    's3cr3t',
    '[]',
    answer({ kind: 's3cr3t' }),
    answer({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }),
    answer({ cacheKeyType: 's3cr3t' }),
    answer({ cacheDuration: 's3cr3t' }),
    answer({ auth: 's3cr3t' }),
    answer({ auth: { 'reg.io': { username: 'u', password: ['s3cr3t'] } } }),
    answer({ auth: { 'reg.io': { username: 'u', password: 'p', s3cr3t: 'x' } } }),
    answer({ s3cr3t: 1 }),
  ];
  for (const text of bad) {
    assert.throws(
      () => readResponse(text, V1),
      (err) => err instanceof ProviderResponseError && !err.message.includes('s3cr3t'),
      text,
    );
  }
});
