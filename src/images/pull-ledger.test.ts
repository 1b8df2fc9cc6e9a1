import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { SimFiles } from '../../test/sim/files.ts';
import { image, refusal, request, World } from '../../test/support/imageWorld.ts';
import { CriError } from '../cri/errors.ts';
import { silentLogger } from '../observe/log.ts';
import type { Credential } from './credential-index.ts';
import { credentialHash } from './credential-index.ts';
import { verificationPolicy } from './image-access.ts';
import { PullLedger } from './pull-ledger.ts';
import { PullRecordFiles } from './pull-record-files.ts';

const fileOf = (key: string) => `sha256-${createHash('sha256').update(key).digest('hex')}`;
const Pulling = '/root/image_manager/pulling';
const Pulled = '/root/image_manager/pulled';

const credential = (name: string, password = 'p'): Credential => ({
  login: { username: 'u', password, email: '' },
  source: { kind: 'secret', namespace: 'ns', name, uid: `uid-${name}` },
});

/** An image manager with records on a disk in memory. `credentials` are those of the next pods. */
class Bed {
  readonly world = new World();
  readonly files = new SimFiles(this.world.clock);
  credentials: Credential[] = [];
  lookups = 0;
  readonly checks: string[] = [];
  counts: number[] = [];
  ledger = this.#newLedger('NeverVerify', []);
  manager = this.world.manager();

  static async open(policy = 'NeverVerifyPreloadedImages', allowlist: string[] = [], seed: Record<string, string> = {}): Promise<Bed> {
    const bed = new Bed();
    bed.files.seed(seed);
    await bed.start(policy, allowlist);
    return bed;
  }

  async start(policy = 'NeverVerifyPreloadedImages', allowlist: string[] = []): Promise<void> {
    this.ledger = this.#newLedger(policy, allowlist);
    await this.ledger.open();
    const credentials = () => {
      this.lookups += 1;
      return this.credentials;
    };
    this.manager = this.world.manager({ ledger: this.ledger, keyring: { credentials } });
  }

  #newLedger(policy: string, allowlist: string[]): PullLedger {
    const { present, clock } = this.world;
    return new PullLedger({
      files: new PullRecordFiles(this.files, '/root'),
      images: { imageStatus: async ({ image: name }) => present.get(name) ?? [...present.values()].find(({ id }) => id === name) },
      policy: verificationPolicy(policy, allowlist),
      clock,
      log: silentLogger,
      metrics: {
        accessChecked: (result) => void this.checks.push(result),
        recorded: (...counts) => {
          this.counts = counts;
        },
      },
    });
  }

  /** True when the image was pulled for it, false when the present one was given. */
  async want(name: string, policy: 'IfNotPresent' | 'Never' | 'Always' = 'IfNotPresent', uid = 'u'): Promise<boolean> {
    const before = this.world.pulled.length;
    await this.manager.ensureImage(request(name, policy, uid));
    return this.world.pulled.length > before;
  }

  async json(dir: string, key: string): Promise<unknown> {
    return JSON.parse((await this.files.read(`${dir}/${fileOf(key)}`)).toString());
  }

  tree(): string[] {
    return this.files.tree('/root').filter((path) => !path.endsWith('/'));
  }
}

const V = 'kubelet.config.k8s.io/v1beta1';

describe('records of pulls', () => {
  it('makes its directories at the start', async () => {
    const { files } = await Bed.open();
    for (const dir of ['/root/image_manager', Pulling, Pulled]) assert.equal((await files.stat(dir))?.mode, 0o700, dir);
    assert.equal((await files.stat('/root'))?.mode, 0o750);
  });

  it('writes an intent before a pull, and a record after it in its place', async () => {
    const bed = await Bed.open();
    bed.credentials = [credential('one')];
    const pull = bed.world.pull;
    let during: unknown;
    bed.world.pull = async (spec) => {
      during = await bed.json(Pulling, 'reg.io/app:1');
      assert.deepEqual(bed.counts, [1, 0]);
      return pull(spec);
    };
    await bed.want('reg.io/app:1');
    assert.deepEqual(during, { kind: 'ImagePullIntent', apiVersion: V, image: 'reg.io/app:1' });
    const path = `${Pulled}/${fileOf('sha256:reg.io/app:1')}`;
    assert.deepEqual(bed.tree(), [path]);
    assert.equal((await bed.files.stat(path))?.mode, 0o600);
    const [one] = bed.credentials;
    assert.ok(one);
    assert.deepEqual(await bed.json(Pulled, 'sha256:reg.io/app:1'), {
      kind: 'ImagePulledRecord',
      apiVersion: V,
      lastUpdatedTime: '2026-01-01T00:00:00Z',
      imageRef: 'sha256:reg.io/app:1',
      credentialMapping: {
        'reg.io/app': { kubernetesSecrets: [{ uid: 'uid-one', namespace: 'ns', name: 'one', credentialHash: credentialHash(one) }] },
      },
    });
    assert.deepEqual(bed.counts, [0, 1]);
  });

  it('leaves no intent of a pull that failed', async () => {
    const bed = await Bed.open();
    bed.world.pull = () => Promise.reject(new CriError('Unknown', 'PullImage', 'denied'));
    await refusal(bed.manager.ensureImage(request('reg.io/app:1')));
    assert.deepEqual(bed.tree(), []);
  });

  it('does not pull what it cannot write down', async () => {
    const bed = await Bed.open();
    const repair = bed.files.full('/root');
    const err = await refusal(bed.manager.ensureImage(request('reg.io/app:1')));
    assert.equal(err.code, 'ErrImagePull');
    assert.match(err.message, /ENOSPC/);
    assert.deepEqual(bed.world.pulled, []);
    repair();
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'other'), true);
  });

  it('keeps the intent of a pull whose record could not be written: nobody has the image unseen', async () => {
    const bed = await Bed.open();
    const repair = bed.files.full(Pulled);
    await bed.want('reg.io/app:1');
    assert.deepEqual(bed.tree(), [`${Pulling}/${fileOf('reg.io/app:1')}`]);
    repair();
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'second'), true);
    assert.deepEqual(bed.tree(), [`${Pulled}/${fileOf('sha256:reg.io/app:1')}`]);
  });

  it('goes with the image', async () => {
    const bed = await Bed.open();
    await bed.want('reg.io/app:1');
    await bed.want('reg.io/app:2');
    // Somebody says that it was removed, and it is there: it came back.
    await bed.ledger.forget('sha256:reg.io/app:1');
    assert.equal(bed.tree().length, 2);
    bed.world.present.delete('reg.io/app:1');
    await bed.ledger.forget('sha256:reg.io/app:1');
    assert.deepEqual(bed.tree(), [`${Pulled}/${fileOf('sha256:reg.io/app:2')}`]);
    // Behind the agent's back: found at the next list.
    bed.world.present.delete('reg.io/app:2');
    await bed.ledger.listed([...bed.world.present.values()]);
    assert.deepEqual(bed.tree(), []);
  });
});

describe('a present image', () => {
  it('that this node did not pull is for everybody', async () => {
    const bed = await Bed.open();
    bed.world.present.set('reg.io/app:1', image('sha256:x'));
    assert.equal(await bed.want('reg.io/app:1'), false);
    assert.equal(await bed.want('reg.io/app:1', 'Never'), false);
    assert.deepEqual(bed.checks, ['credentialPolicyAllowed', 'credentialPolicyAllowed']);
    assert.equal(bed.lookups, 0);
    const strict = await Bed.open('AlwaysVerify');
    strict.world.present.set('reg.io/app:1', image('sha256:x'));
    assert.equal(await strict.want('reg.io/app:1'), true);
  });

  it('that was pulled with a secret is for those who have it; others pull it again', async () => {
    const bed = await Bed.open();
    bed.credentials = [credential('one')];
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'a'), true);
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'b'), false);
    bed.credentials = [];
    const pull = bed.world.pull;
    bed.world.pull = () => Promise.reject(new CriError('Unknown', 'PullImage', 'denied'));
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/app:1', 'IfNotPresent', 'c')))).code, 'ErrImagePull');
    const never = await refusal(bed.manager.ensureImage(request('reg.io/app:1', 'Never', 'd')));
    assert.equal(never.code, 'ErrImageNeverPull');
    // What it would say of an image that is not there.
    assert.equal(never.message, 'Container image "reg.io/app:1" is not present with pull policy of Never');
    assert.deepEqual(bed.world.counted.at(-1), ['Never', true, true]);
    // Another login for the same image: it is pulled, and is then his as well.
    bed.world.pull = pull;
    bed.credentials = [credential('two', 'other')];
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'e'), true);
    assert.equal(await bed.want('reg.io/app:1', 'Never', 'e'), false);
    // The login of the first in another secret needs no pull, and is remembered.
    bed.credentials = [credential('copy')];
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'f'), false);
    bed.credentials = [credential('copy', 'changed')];
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'g'), false);
    assert.deepEqual(bed.checks, [
      'credentialRecordFound',
      'mustAuthenticate',
      'mustAuthenticate',
      'mustAuthenticate',
      'credentialRecordFound',
      'credentialRecordFound',
      'credentialRecordFound',
    ]);
  });

  it("that was pulled by a plug-in for a service account is that service account's", async () => {
    const of = (name: string): Credential => ({
      login: { username: 'u', password: 'p', email: '' },
      source: { kind: 'serviceAccount', namespace: 'ns', name, uid: `uid-${name}` },
    });
    const bed = await Bed.open();
    bed.credentials = [of('sa')];
    await bed.want('reg.io/app:1');
    assert.equal(await bed.want('reg.io/app:1', 'Never', 'b'), false);
    bed.credentials = [of('other')];
    assert.equal(await bed.want('reg.io/app:1', 'IfNotPresent', 'c'), true);
  });

  it('that was pulled anonymously or with the credentials of the node is for everybody', async () => {
    for (const credentials of [[], [{ ...credential('x'), source: undefined }]]) {
      const bed = await Bed.open();
      bed.credentials = credentials;
      await bed.want('reg.io/app:1');
      bed.lookups = 0;
      assert.equal(await bed.want('reg.io/app:1', 'Never', 'b'), false);
      assert.equal(bed.lookups, 0);
    }
  });

  it('is looked at after a restart as before it', async () => {
    const bed = await Bed.open();
    bed.credentials = [credential('one')];
    await bed.want('reg.io/app:1');
    await bed.start();
    bed.credentials = [];
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/app:1', 'Never', 'b')))).code, 'ErrImageNeverPull');
    await bed.start('NeverVerify');
    assert.equal(await bed.want('reg.io/app:1', 'Never', 'b'), false);
    await bed.start('NeverVerifyAllowlistedImages', ['reg.io/*']);
    assert.equal(await bed.want('reg.io/app:1', 'Never', 'b'), false);
  });

  it('of a pull that a crash ended is nobody’s until somebody pulls it', async () => {
    const intent = (name: string) => JSON.stringify({ kind: 'ImagePullIntent', apiVersion: V, image: name });
    const bed = new Bed();
    const there = `${Pulling}/${fileOf('reg.io/app')}`;
    const gone = `${Pulling}/${fileOf('reg.io/gone:1')}`;
    bed.files.seed({ [there]: intent('reg.io/app'), [gone]: intent('reg.io/gone:1') });
    bed.world.present.set('reg.io/app:latest', image('sha256:x'));
    await bed.start();
    assert.deepEqual(bed.tree(), [`${Pulled}/${fileOf('sha256:x')}`, gone]);
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/app', 'Never')))).code, 'ErrImageNeverPull');
    // It may still have come meanwhile.
    bed.world.present.set('reg.io/gone:1', image('sha256:late'));
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/gone:1', 'Never')))).code, 'ErrImageNeverPull');
    // A pull that fails proves nothing about it.
    const pull = bed.world.pull;
    bed.world.pull = () => Promise.reject(new CriError('Unknown', 'PullImage', 'denied'));
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/gone:1', 'IfNotPresent', 'b')))).code, 'ErrImagePull');
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/gone:1', 'Never', 'c')))).code, 'ErrImageNeverPull');
    bed.world.pull = pull;
    bed.world.present.delete('reg.io/gone:1');
    await bed.ledger.listed([...bed.world.present.values()]);
    assert.deepEqual(bed.tree(), [`${Pulled}/${fileOf('sha256:x')}`]);
  });

  it('whose record cannot be read must be pulled, which repairs the record', async () => {
    for (const broken of ['{', '[]', JSON.stringify({ kind: 'ImagePulledRecord', apiVersion: V, imageRef: 5 })]) {
      const bed = await Bed.open('NeverVerifyPreloadedImages', [], { [`${Pulled}/${fileOf('sha256:reg.io/app:1')}`]: broken });
      bed.world.present.set('reg.io/app:1', image('sha256:reg.io/app:1'));
      assert.equal(await bed.want('reg.io/app:1'), true);
      assert.deepEqual(bed.checks, ['error']);
      assert.equal(await bed.want('reg.io/app:1', 'Never'), false);
    }
  });

  it('is taken by records that other kubelets wrote', async () => {
    for (const version of ['v1alpha1', 'v1beta1']) {
      const written = JSON.stringify({
        kind: 'ImagePulledRecord',
        apiVersion: `kubelet.config.k8s.io/${version}`,
        lastUpdatedTime: '2025-05-05T05:05:05Z',
        imageRef: 'sha256:x',
        credentialMapping: { 'reg.io/app': { nodePodsAccessible: true }, __proto__: { nodePodsAccessible: true } },
      });
      const bed = await Bed.open('AlwaysVerify', [], { [`${Pulled}/${fileOf('sha256:x')}`]: written });
      bed.world.present.set('reg.io/app:1', image('sha256:x'));
      assert.equal(await bed.want('reg.io/app:1', 'Never'), false);
    }
  });

  it('that is being pulled by one pod is not given to another without a proof', async () => {
    const bed = await Bed.open();
    bed.credentials = [credential('one')];
    let finish = () => {};
    bed.world.pull = (spec) =>
      new Promise((resolve) => {
        bed.world.present.set(spec.image, image('sha256:x'));
        finish = () => resolve('sha256:x');
      });
    const first = bed.manager.ensureImage(request('reg.io/app:1', 'Always', 'a'));
    await bed.world.clock.advance(1);
    bed.credentials = [];
    assert.equal((await refusal(bed.manager.ensureImage(request('reg.io/app:1', 'Never', 'b')))).code, 'ErrImageNeverPull');
    finish();
    await first;
  });
});
