import assert from 'node:assert/strict';
import { test } from 'node:test';
import { credentialHash } from './credential-index.ts';
import { admits, proofsOf, recordAdmits, verificationPolicy } from './image-access.ts';
import { bareName, type PullCredentials, type PulledRecord, type PullSecret, provenBy, withProof } from './pull-record.ts';

const record = (credentials: PullCredentials, name = 'reg.io/app'): PulledRecord => ({
  lastUpdatedTime: 't0',
  imageRef: 'sha256:1',
  credentialMapping: new Map([[name, credentials]]),
});
const secret = (name: string, credentialHash: string): PullSecret => ({ uid: `uid-${name}`, namespace: 'ns', name, credentialHash });
const account = (name: string) => ({ uid: `uid-${name}`, namespace: 'ns', name });
const login = { username: 'u', password: 'p', email: '' };

test('policies: who must show that a pod may use a present image', () => {
  const asked = (name: string, list: string[] = []) => {
    const policy = verificationPolicy(name, list);
    return [policy('reg.io/a/app:1', false), policy('reg.io/a/app:1', true)];
  };
  assert.deepEqual(asked('NeverVerify'), [false, false]);
  assert.deepEqual(asked('NeverVerifyPreloadedImages'), [false, true]);
  assert.deepEqual(asked('AlwaysVerify'), [true, true]);
  const list = (...patterns: string[]) => asked('NeverVerifyAllowlistedImages', patterns);
  assert.deepEqual(list(), [true, true]);
  assert.deepEqual(list('reg.io/a/app'), [false, false]);
  assert.deepEqual(list('reg.io/a/*'), [false, false]);
  assert.deepEqual(list('reg.io/a', 'reg.io/a/ap', 'reg.io/b/*', 'eg.io/a/*'), [true, true]);
});

test('names lose tag and digest and nothing else', () => {
  for (const [image, bare] of [
    ['app', 'app'],
    ['app:1', 'app'],
    ['reg.io:5000/app', 'reg.io:5000/app'],
    ['reg.io:5000/app:1', 'reg.io:5000/app'],
    [`reg.io/app:1@sha256:${'0'.repeat(64)}`, 'reg.io/app'],
    ['docker.io/library/app:1', 'docker.io/library/app'],
  ] as const) {
    assert.equal(bareName(image), bare);
  }
});

test('a record lets everybody in, nobody, or some; under each name of the image others', () => {
  assert.equal(recordAdmits(record({ nodePodsAccessible: true }), 'reg.io/app:2'), 'everybody');
  assert.equal(recordAdmits(record({ nodePodsAccessible: true }), 'other.io/app:2'), 'nobody');
  assert.equal(recordAdmits(record({}), 'reg.io/app'), 'nobody');
  assert.equal(recordAdmits(undefined, 'reg.io/app'), 'nobody');
  assert.equal(recordAdmits(record({ kubernetesSecrets: [secret('a', 'h')] }), 'reg.io/app'), 'some');
  assert.equal(recordAdmits(record({ kubernetesServiceAccounts: [account('a')] }), 'reg.io/app'), 'some');
});

test('a pod is let in by the same login, the same secret, or the same service account', () => {
  const known = record({ kubernetesSecrets: [secret('a', 'h1')], kubernetesServiceAccounts: [account('sa')] });
  const show = (secrets: PullSecret[], serviceAccount?: string) =>
    admits(known, 'reg.io/app:1', { secrets, serviceAccount: serviceAccount === undefined ? undefined : account(serviceAccount) });
  assert.deepEqual(show([secret('a', 'h1')]), { allowed: true });
  assert.deepEqual(show([secret('x', 'no'), secret('b', 'h1')]), { allowed: true, learnt: secret('b', 'h1') });
  assert.deepEqual(show([secret('a', 'h2')]), { allowed: true, learnt: secret('a', 'h2') });
  assert.deepEqual(show([secret('b', 'h2')]), { allowed: false });
  assert.deepEqual(show([{ ...secret('a', 'h2'), uid: 'later' }]), { allowed: false });
  assert.deepEqual(show([], 'sa'), { allowed: true });
  assert.deepEqual(show([], 'other'), { allowed: false });
  assert.deepEqual(show([]), { allowed: false });
  // An empty hash is no proof.
  const hashless = record({ kubernetesSecrets: [secret('a', '')] });
  assert.deepEqual(admits(hashless, 'reg.io/app', { secrets: [secret('b', '')], serviceAccount: undefined }), { allowed: false });
  const many = record({ kubernetesSecrets: Array.from({ length: 100 }, (_, i) => secret(`s${i}`, 'h1')) });
  assert.deepEqual(admits(many, 'reg.io/app', { secrets: [secret('b', 'h1')], serviceAccount: undefined }), { allowed: true });
});

test('what a pull proves, and what a pod can show', () => {
  assert.deepEqual(provenBy(undefined), { nodePodsAccessible: true });
  assert.deepEqual(provenBy({ login, source: undefined }), { nodePodsAccessible: true });
  const ofSecret = { login, source: { kind: 'secret' as const, ...account('a') } };
  const ofAccount = { login, source: { kind: 'serviceAccount' as const, ...account('sa') } };
  assert.deepEqual(provenBy(ofSecret), { kubernetesSecrets: [secret('a', credentialHash(ofSecret))] });
  assert.deepEqual(provenBy(ofAccount), { kubernetesServiceAccounts: [account('sa')] });
  assert.deepEqual(proofsOf([{ login, source: undefined }, ofSecret, ofAccount]), {
    secrets: [secret('a', credentialHash(ofSecret))],
    serviceAccount: account('sa'),
  });
});

test('a record grows by what is new', () => {
  const empty: PulledRecord = { lastUpdatedTime: 't0', imageRef: 'r', credentialMapping: new Map() };
  const grown = (from: PulledRecord, proof: PullCredentials) => withProof(from, 'n', proof, 't1');
  const one = grown(empty, { kubernetesSecrets: [secret('b', 'h')] });
  assert.equal(one.lastUpdatedTime, 't1');
  const two = grown(one, { kubernetesSecrets: [secret('a', 'h')], kubernetesServiceAccounts: [account('sa')] });
  assert.deepEqual(two.credentialMapping.get('n'), {
    kubernetesSecrets: [secret('a', 'h'), secret('b', 'h')],
    kubernetesServiceAccounts: [account('sa')],
  });
  assert.equal(grown(two, { kubernetesSecrets: [secret('a', 'h')] }), two);
  assert.equal(grown(two, {}), two);
  assert.deepEqual(grown(two, { kubernetesSecrets: [secret('a', 'new')] }).credentialMapping.get('n')?.kubernetesSecrets, [
    secret('a', 'new'),
    secret('b', 'h'),
  ]);
  const open = grown(two, { nodePodsAccessible: true });
  assert.deepEqual(open.credentialMapping.get('n'), { nodePodsAccessible: true });
  assert.equal(grown(open, { kubernetesSecrets: [secret('c', 'h')] }), open);
});
