import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { KubeError } from '../kube/errors.ts';
import type { TokenRequest } from '../kube/types.ts';
import { silentLogger } from '../observe/log.ts';
import { TokenManager, type TokenSpec } from './token-manager.ts';

const minute = 60_000;
const hour = 60 * minute;
const spec: TokenSpec = { namespace: 'ns', serviceAccount: 'sa', audiences: [], expirationSeconds: 3600, pod: { name: 'p', uid: 'u' } };

class World {
  readonly clock = new SimClock();
  readonly calls: { path: string; body: TokenRequest }[] = [];
  /** Milliseconds that the server takes. */
  latencyMs = 5;
  fails: KubeError | undefined;
  /** Of the next tokens, where the server has its own mind. */
  lifeSeconds: number | undefined;
  random = 0;
  readonly tokens: TokenManager;

  constructor() {
    const request = async ({ path, body }: KubeCall) => {
      this.calls.push({ path, body: body as TokenRequest });
      const number = this.calls.length;
      await this.clock.sleep(this.latencyMs);
      if (this.fails) throw this.fails;
      const seconds = this.lifeSeconds ?? (body as TokenRequest).spec.expirationSeconds ?? 0;
      const expirationTimestamp = new Date(this.clock.now() + seconds * 1000).toISOString();
      return { ...(body as TokenRequest), spec: { expirationSeconds: seconds }, status: { token: `t${number}`, expirationTimestamp } };
    };
    const api = { request, stream: () => assert.fail('no watch') } as KubeApi;
    this.tokens = new TokenManager({ api, clock: this.clock, random: { float: () => this.random }, log: silentLogger });
  }

  async token(of: TokenSpec = spec): Promise<string> {
    let over = false;
    const work = this.tokens.token(of).finally(() => {
      over = true;
    });
    work.catch(() => {});
    assert.ok(await this.clock.runUntil(() => over, minute), 'no token');
    return (await work).token;
  }
}

describe('TokenManager', () => {
  it('asks for a token that is bound to the pod, once', async () => {
    const world = new World();
    assert.equal(await world.token(), 't1');
    assert.equal(await world.token(), 't1');
    assert.deepEqual(world.calls, [
      {
        path: '/api/v1/namespaces/ns/serviceaccounts/sa/token',
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          metadata: {},
          spec: { audiences: [], expirationSeconds: 3600, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'u' } },
        },
      },
    ]);
  });

  it('names the UID of the account where it is given, and keeps those tokens apart', async () => {
    const world = new World();
    assert.equal(await world.token(), 't1');
    assert.equal(await world.token({ ...spec, serviceAccountUid: 'one' }), 't2');
    assert.equal(await world.token({ ...spec, serviceAccountUid: 'two' }), 't3');
    assert.equal(await world.token({ ...spec, serviceAccountUid: 'one' }), 't2');
    assert.deepEqual(
      world.calls.map(({ body }) => body.metadata),
      [{}, { uid: 'one' }, { uid: 'two' }],
    );
  });

  it('keeps one for each account, audience, life and pod', async () => {
    const world = new World();
    const variants: TokenSpec[] = [
      spec,
      { ...spec, serviceAccount: 'other' },
      { ...spec, namespace: 'other' },
      { ...spec, audiences: ['vault'] },
      { ...spec, expirationSeconds: 7200 },
      { ...spec, pod: { name: 'p', uid: 'again' } },
    ];
    for (const variant of [...variants, ...variants]) await world.token(variant);
    assert.equal(world.calls.length, variants.length);
    world.tokens.forgetPod('u');
    assert.equal(world.tokens.size, 1);
  });

  it('renews at 80 % of its life, up to ten seconds earlier', async () => {
    for (const [random, due] of [
      [0, 48 * minute],
      [0.999999, 48 * minute - 10_000],
    ] as const) {
      const world = new World();
      world.random = random;
      await world.token();
      await world.clock.advance(due - 100);
      assert.equal(await world.token(), 't1');
      await world.clock.advance(200);
      assert.equal(await world.token(), 't2');
    }
  });

  it('renews a long one after a day, by the life that the server gave it', async () => {
    const world = new World();
    world.lifeSeconds = 10 * 24 * 3600;
    await world.token();
    await world.clock.advance(24 * hour - 1_000);
    assert.equal(await world.token(), 't1');
    await world.clock.advance(2_000);
    assert.equal(await world.token(), 't2');
  });

  it('keeps the old one until it expires when it cannot be renewed, asking at most once a read', async () => {
    const world = new World();
    await world.token();
    world.fails = new KubeError('Unavailable', 'POST', 'connect ECONNREFUSED');
    await world.clock.advance(50 * minute);
    for (let i = 0; i < 5; i++) {
      assert.equal(await world.token(), 't1');
      await world.clock.advance(minute);
    }
    assert.equal(world.calls.length, 6);
    await world.clock.advance(6 * minute);
    await assert.rejects(world.token(), /^Error: token of ns\/sa expired and refresh failed: connect ECONNREFUSED$/);
    world.fails = undefined;
    assert.equal(await world.token(), 't8');
  });

  it('does not let a server that hangs hold up a pod that has a token', async () => {
    const world = new World();
    await world.token();
    await world.clock.advance(50 * minute);
    world.latencyMs = 20_000;
    const before = world.clock.monotonic();
    assert.equal(await world.token(), 't1');
    assert.ok(world.clock.monotonic() - before <= 1_000);
    await world.clock.advance(20_000);
    assert.equal(await world.token(), 't2');
    assert.equal(world.calls.length, 2);
  });

  it('rejects when there is none at all, and names neither token nor body', async () => {
    const world = new World();
    world.fails = new KubeError('NotFound', 'POST', 'serviceaccounts "sa" not found', { status: 404 });
    await assert.rejects(world.token(), /^Error: failed to fetch token: serviceaccounts "sa" not found$/);
  });

  it('asks once for all that want it at a time', async () => {
    const world = new World();
    const all = Promise.all(Array.from({ length: 10 }, () => world.tokens.token(spec)));
    await world.clock.advance(100);
    assert.deepEqual(new Set((await all).map((t) => t.token)), new Set(['t1']));
    assert.equal(world.calls.length, 1);
  });

  it('drops expired ones', async () => {
    const world = new World();
    await world.token();
    await world.clock.advance(59 * minute);
    world.tokens.collect();
    assert.equal(world.tokens.size, 1);
    await world.clock.advance(2 * minute);
    world.tokens.collect();
    assert.equal(world.tokens.size, 0);
  });

  it('goes by the wall clock, which the server’s times are of', async () => {
    const world = new World();
    await world.token();
    world.clock.jump(2 * hour);
    assert.equal(await world.token(), 't2');
  });
});
