import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusal, request, World } from '../../test/support/imageWorld.ts';
import type { Pod } from '../api/types.ts';
import { CriError } from '../cri/errors.ts';
import type { Credential } from './credential-index.ts';
import { PodKeyring, type RegistrySecret } from './keyring-pod.ts';

function secret(name: string, auths: object): RegistrySecret {
  const data = new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths }))]]);
  return { namespace: 'ns', name, uid: `uid-${name}`, type: 'kubernetes.io/dockerconfigjson', data };
}

const login = (username: string, password = 'p') => ({ username, password });
const podWith = (...names: string[]): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], imagePullSecrets: names.map((name) => ({ name })) },
});
const nodeLogin: Credential = { login: { ...login('node'), email: '' }, source: undefined };
const node = { lookup: (repo: string) => (repo.startsWith('reg.io/') ? [nodeLogin] : []) };

describe('PodKeyring', () => {
  it("gives the credentials of the pod's secrets, the nearest registry first, then the node's", async () => {
    const secrets = [secret('one', { 'reg.io': login('a') }), secret('two', { 'reg.io/team': login('b'), other: login('x') })];
    const keyring = new PodKeyring(async () => ({ secrets, missing: [] }), node);
    const found = await keyring.credentials('reg.io/team/app:1', podWith('one', 'two'));
    assert.deepEqual(
      found.map((c) => c.login.username),
      ['b', 'a', 'node'],
    );
    const sources = (await keyring.credentials('reg.io/team/app@sha256:'.concat('0'.repeat(64)), podWith('one'))).map((c) => c.source);
    assert.deepEqual(sources.slice(1), [{ kind: 'secret', namespace: 'ns', name: 'one', uid: 'uid-one' }, undefined]);
  });

  it('takes Docker Hub for the registry of a short name', async () => {
    const secrets = [secret('hub', { 'https://index.docker.io/v1/': login('h') })];
    const keyring = new PodKeyring(async () => ({ secrets, missing: [] }), node);
    assert.deepEqual(
      (await keyring.credentials('busybox', podWith('hub'))).map((c) => c.login.username),
      ['h'],
    );
  });

  it('reads no secrets for a pod that names none', async () => {
    const keyring = new PodKeyring(() => assert.fail('read'), node);
    assert.equal((await keyring.credentials('reg.io/x:1', podWith())).length, 1);
    assert.deepEqual(await keyring.missingSecrets(podWith()), []);
  });

  it('names the secret that is no docker configuration, and nothing that is in it', async () => {
    const broken = { ...secret('bad', {}), data: new Map([['.dockerconfigjson', Buffer.from('{"auths": {"reg.io": s3cr3t}}')]]) };
    const keyring = new PodKeyring(async () => ({ secrets: [broken], missing: [] }), node);
    await assert.rejects(keyring.credentials('reg.io/x:1', podWith('bad')), (err: Error) => {
      assert.match(err.message, /^secret ns\/bad: .*no JSON$/);
      assert.doesNotMatch(err.message, /s3cr3t/);
      return true;
    });
  });

  it('leaves secrets of other types alone', async () => {
    const opaque = { ...secret('o', { 'reg.io': login('a') }), type: 'Opaque' };
    const keyring = new PodKeyring(async () => ({ secrets: [opaque], missing: [] }), { lookup: () => [] });
    assert.deepEqual(await keyring.credentials('reg.io/x:1', podWith('o')), []);
  });
});

describe('a pull', () => {
  it('tries each credential in turn', async () => {
    const world = new World();
    const secrets = [secret('one', { 'reg.io': login('a') }), secret('two', { 'reg.io': login('b') })];
    const keyring = new PodKeyring(async () => ({ secrets, missing: [] }), { lookup: () => [] });
    world.pull = async (_spec, auth) => {
      if (auth?.username === 'b') return 'sha256:1';
      throw new CriError('Unknown', 'PullImage', 'denied');
    };
    const wanted = { ...request('reg.io/x:1', 'Always'), pod: podWith('one', 'two') };
    assert.deepEqual(await world.manager({ keyring }).ensureImage(wanted), { imageRef: 'sha256:1' });
    assert.deepEqual(
      world.pulled.map((p) => p.user),
      ['a', 'b'],
    );
    assert.ok(!world.events.some((e) => e.includes('FailedToRetrieveImagePullSecret')));
  });

  it('goes on without a missing secret, and names it when it has failed', async () => {
    const world = new World();
    const keyring = new PodKeyring(async () => ({ secrets: [], missing: ['gone', 'lost'] }), { lookup: () => [] });
    world.pull = () => Promise.reject(new CriError('Unknown', 'PullImage', 'denied'));
    const wanted = { ...request('reg.io/x:1', 'Always'), pod: podWith('gone', 'lost') };
    await refusal(world.manager({ keyring }).ensureImage(wanted));
    assert.deepEqual(
      world.pulled.map((p) => p.user),
      [undefined],
    );
    assert.deepEqual(
      world.events.filter((e) => e.includes('PullSecret')),
      [
        '- Warning FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.',
      ],
    );
  });
});
