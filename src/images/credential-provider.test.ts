import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Pod } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { CredentialProvider, type ServiceAccountPort } from './credential-provider.ts';
import type { ProviderConfig, TokenAttributes } from './provider-config.ts';
import { ProviderKeyring } from './provider-keyring.ts';
import type { ProviderRequest, ProviderResponse } from './provider-protocol.ts';

const podOf = (name: string, serviceAccountName = ''): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { containers: [], serviceAccountName },
});
const pod = podOf('p');

class World {
  readonly clock = new SimClock();
  readonly asked: ProviderRequest[] = [];
  annotations = new Map<string, string>();
  answer: (request: ProviderRequest) => Promise<Partial<ProviderResponse>> = async () => ({});
  accounts: ServiceAccountPort | undefined = {
    serviceAccount: async (_ns, name) => ({ uid: `uid-of-${name}`, annotations: this.annotations }),
    token: async (of, uid, audience) => `token of ${of.metadata.name} ${uid} ${audience}`,
  };

  provider(more: Partial<ProviderConfig> = {}): CredentialProvider {
    const config: ProviderConfig = {
      name: 'plug',
      matchImages: ['*.reg.io', 'reg.io:5000/team'],
      defaultCacheMs: 0,
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      args: [],
      env: [],
      tokenAttributes: undefined,
      ...more,
    };
    const ask = async (request: ProviderRequest): Promise<ProviderResponse> => {
      this.asked.push(request);
      const auth = new Map([['a.reg.io', { username: `user${this.asked.length}`, password: 'p' }]]);
      return { cacheKeyType: 'Image', cacheMs: undefined, auth, ...(await this.answer(request)) };
    };
    return new CredentialProvider({ config, ask, accounts: this.accounts, clock: this.clock });
  }
}

const tokens = (more: Partial<TokenAttributes> = {}): Partial<ProviderConfig> => ({
  tokenAttributes: {
    audience: 'aud',
    cacheType: 'ServiceAccount',
    requireServiceAccount: true,
    requiredAnnotations: [],
    optionalAnnotations: [],
    ...more,
  },
});

describe('a credential provider', () => {
  it('is asked for the images that match only', async () => {
    const world = new World();
    const provider = world.provider();
    for (const image of ['reg.io/x', 'a.b.reg.io/x', 'reg.io:5000/other', 'a.reg.io:80/x', 'evil.com/a.reg.io']) {
      assert.equal(await provider.provide(image, pod), undefined, image);
    }
    assert.deepEqual(world.asked, []);
    for (const image of ['a.reg.io/x', 'reg.io:5000/team/x']) assert.ok(await provider.provide(image, pod), image);
    assert.deepEqual(world.asked[0], { image: 'a.reg.io/x', serviceAccountToken: '', serviceAccountAnnotations: new Map() });
  });

  it('is not asked again while its answer counts: for the image, the registry or everything', async () => {
    const asks = async (response: Partial<ProviderResponse>, images: string[], defaultCacheMs = 0, pauseMs = 0) => {
      const world = new World();
      world.answer = async () => response;
      const provider = world.provider({ defaultCacheMs });
      for (const image of images) {
        await provider.provide(image, pod);
        await world.clock.advance(pauseMs);
      }
      return world.asked.length;
    };
    const images = ['a.reg.io/x', 'a.reg.io/x', 'a.reg.io/y', 'b.reg.io/x'];
    assert.equal(await asks({ cacheKeyType: 'Image', cacheMs: 1000 }, images), 3);
    assert.equal(await asks({ cacheKeyType: 'Registry', cacheMs: 1000 }, images), 2);
    assert.equal(await asks({ cacheKeyType: 'Global', cacheMs: 1000 }, images), 1);
    // Without a duration the configuration's counts; zero is not kept, whatever the configuration says.
    assert.equal(await asks({ cacheKeyType: 'Global' }, images), 4);
    assert.equal(await asks({ cacheKeyType: 'Global' }, images, 1000), 1);
    assert.equal(await asks({ cacheKeyType: 'Global', cacheMs: 0 }, images, 1000), 4);
    assert.equal(await asks({ cacheKeyType: 'Global', cacheMs: 1000 }, images, 0, 600), 2);
    // A purge of what is over leaves what is not.
    assert.equal(await asks({ cacheKeyType: 'Global', cacheMs: 3_600_000 }, images, 0, 1_000_000), 1);
  });

  it('is run once for those who want the same at the same time, and again after a failure', async () => {
    const world = new World();
    world.answer = async () => {
      await world.clock.sleep(100);
      throw new Error('no');
    };
    const provider = world.provider();
    const both = Promise.allSettled([provider.provide('a.reg.io/x', pod), provider.provide('a.reg.io/x', podOf('q'))]);
    await world.clock.advance(100);
    assert.deepEqual(
      (await both).map((r) => r.status),
      ['rejected', 'rejected'],
    );
    assert.equal(world.asked.length, 1);
    world.answer = async () => ({});
    assert.ok(await provider.provide('a.reg.io/x', pod));
  });

  it("is told the service account's token and annotations, and its credentials are the service account's", async () => {
    const world = new World();
    world.annotations = new Map([
      ['need', '1'],
      ['may', '2'],
      ['other', '3'],
    ]);
    const provider = world.provider(tokens({ requiredAnnotations: ['need'], optionalAnnotations: ['may', 'absent'] }));
    const provided = await provider.provide('a.reg.io/x', podOf('p', 'sa'));
    assert.deepEqual(provided?.source, { kind: 'serviceAccount', namespace: 'ns', name: 'sa', uid: 'uid-of-sa' });
    assert.deepEqual(world.asked, [
      {
        image: 'a.reg.io/x',
        serviceAccountToken: 'token of p uid-of-sa aud',
        serviceAccountAnnotations: new Map([
          ['may', '2'],
          ['need', '1'],
        ]),
      },
    ]);
    world.annotations.delete('need');
    assert.equal(await provider.provide('a.reg.io/x', podOf('p', 'sa')), undefined);
  });

  it('gives pods without a service account nothing, or what it gives to the node', async () => {
    const world = new World();
    assert.equal(await world.provider(tokens()).provide('a.reg.io/x', pod), undefined);
    const provided = await world.provider(tokens({ requireServiceAccount: false })).provide('a.reg.io/x', pod);
    assert.equal(provided?.source, undefined);
    assert.equal(world.asked[0]?.serviceAccountToken, '');
    world.accounts = undefined;
    await assert.rejects(world.provider(tokens()).provide('a.reg.io/x', podOf('p', 'sa')), /without an API server/);
  });

  it('keeps credentials for the service account, or for the token', async () => {
    const asks = async (cacheType: TokenAttributes['cacheType'], pods: Pod[]) => {
      const world = new World();
      world.answer = async () => ({ cacheKeyType: 'Global', cacheMs: 1000 });
      const provider = world.provider(tokens({ cacheType }));
      for (const each of pods) await provider.provide('a.reg.io/x', each);
      return world.asked.length;
    };
    const pods = [podOf('p', 'sa'), podOf('q', 'sa'), podOf('p', 'sa'), podOf('p', 'other')];
    assert.equal(await asks('ServiceAccount', pods), 2);
    assert.equal(await asks('Token', pods), 3);
  });

  it('may not give the token for a password to the whole service account', async () => {
    const world = new World();
    world.answer = async ({ serviceAccountToken }) => ({ auth: new Map([['a.reg.io', { username: 'u', password: serviceAccountToken }]]) });
    await assert.rejects(world.provider(tokens()).provide('a.reg.io/x', podOf('p', 'sa')), /cacheType Token/);
    assert.ok(await world.provider(tokens({ cacheType: 'Token' })).provide('a.reg.io/x', podOf('p', 'sa')));
  });
});

describe('ProviderKeyring', () => {
  it('sorts what all plug-ins give as one set, and goes on without one that fails', async () => {
    const of = (name: string, auth: Record<string, string>) => ({
      name,
      provide: async () => ({
        logins: new Map(Object.entries(auth).map(([pattern, username]) => [pattern, { username, password: '', email: '' }])),
        source: undefined,
      }),
    });
    const broken = { name: 'broken', provide: () => Promise.reject(new Error('exit status 1')) };
    const errors: string[] = [];
    const log = { ...silentLogger, error: (err: unknown) => void errors.push(String(err)) };
    const keyring = new ProviderKeyring([broken, of('a', { 'reg.io': 'one' }), of('b', { 'reg.io': 'two', 'reg.io/team': 'near' })], log);
    assert.deepEqual(
      (await keyring.lookup('reg.io/team/x', pod)).map((c) => c.login.username),
      ['near', 'one', 'two'],
    );
    assert.deepEqual(errors, ['Error: exit status 1']);
  });
});
