import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { SimClock } from '../../test/sim/clock.ts';
import { SimRandom } from '../../test/sim/random.ts';
import { readRequest, TestSigner } from '../../test/support/certificateSigner.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { KubeError } from '../kube/errors.ts';
import type { CertificateSigningRequest } from '../kube/types.ts';
import { silentLogger } from '../observe/log.ts';
import { bootstrapClient, kubeconfigText } from './bootstrap.ts';
import { CertificateManager, type CertificateTrouble } from './certificate-manager.ts';
import {
  bootstrapRequestName,
  certificateRequest,
  clientTemplate,
  newPrivateKey,
  privateKeyPem,
  servingTemplate,
} from './certificate-request.ts';
import { CertificateStore, heldCertificate } from './certificate-store.ts';
import { CertificateTroubles } from './certificate-troubles.ts';
import { ClientExpiry } from './client-expiry.ts';
import { CLIENT_SIGNER, outcome } from './request-certificate.ts';
import { isValidAt, rotationTime } from './rotation-time.ts';

const HOUR = 3_600_000;

describe('certificate requests', () => {
  it('carry the name, the groups, the alternatives and a valid signature', async () => {
    const key = await newPrivateKey();
    const template = servingTemplate('n1', ['n1', 'host.example', '10.0.0.1'], ['10.0.0.1', 'fd00::1', '10.0.0.1']);
    assert.deepEqual(template?.alternatives, ['host.example', 'n1', '10.0.0.1', 'fd00::1']);
    const read = readRequest(certificateRequest(template ?? clientTemplate('n1'), key, createPublicKey(key)));
    for (const text of ['system:node:n1', 'system:nodes']) assert.ok(read.subject.includes(text), text);
    for (const text of ['host.example', 'n1']) assert.ok(read.attributes.includes(text), text);
    assert.ok(read.attributes.includes(Buffer.from([0x87, 4, 10, 0, 0, 1])), 'the address');
    assert.ok(read.publicKey.equals(createPublicKey(key)));
  });

  it('are not made for a node without an address: nobody would sign them', () => {
    assert.equal(servingTemplate('n1', ['n1'], []), undefined);
  });

  it('have a name that is the same for the same key and another for another node', async () => {
    const key = createPublicKey(await newPrivateKey());
    const name = bootstrapRequestName(clientTemplate('n1'), key);
    assert.equal(name, bootstrapRequestName(clientTemplate('n1'), key));
    assert.notEqual(name, bootstrapRequestName(clientTemplate('n2'), key));
    assert.match(name, /^node-csr-[0-9a-f]{64}$/);
  });

  it('end as they were answered', () => {
    const csr = (status: CertificateSigningRequest['status']) =>
      ({ metadata: { name: 'csr-1' }, spec: { request: '', signerName: '', usages: [] }, status }) as unknown as CertificateSigningRequest;
    assert.equal(outcome(csr(undefined)), undefined);
    assert.equal(outcome(csr({ conditions: [{ type: 'Approved', status: 'True' }] })), undefined, 'approved is not yet signed');
    assert.equal(outcome(csr({ certificate: Buffer.from('pem').toString('base64') })), 'pem');
    const denied = csr({ conditions: [{ type: 'Denied', status: 'True', reason: 'No', message: 'not today' }] });
    assert.throws(() => outcome(denied), { code: 'Denied', message: /csr-1: was denied \(No: not today\)/ });
    assert.throws(() => outcome(csr({ conditions: [{ type: 'Failed', status: 'True' }] })), { code: 'Failed' });
  });
});

describe('the time of a rotation', () => {
  it('lies between 70 and 90 percent of the lifetime, whatever the dice', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 1000, max: 1e11 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (from, lifetime, dice) => {
          const validity = { validFromDate: new Date(from), validToDate: new Date(from + lifetime) };
          const part = (rotationTime(validity, { float: () => dice, hex: () => '' }) - from) / lifetime;
          assert.ok(part >= 0.7 - 1e-5 && part <= 0.9 + 1e-5, String(part));
        },
      ),
    );
  });
});

/** Files in memory, links included. */
class Files {
  readonly content = new Map<string, string>();
  readonly modes = new Map<string, number>();
  readonly links = new Map<string, string>();
  fail: string | undefined;

  async read(path: string): Promise<Buffer> {
    const text = this.content.get(this.links.get(path) ?? path);
    if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return Buffer.from(text);
  }
  async writeAtomic(path: string, data: string | Uint8Array, mode: number): Promise<void> {
    if (this.fail !== undefined) throw Object.assign(new Error(this.fail), { code: 'ENOSPC' });
    this.content.set(path, data.toString());
    this.modes.set(path, mode);
  }
  async mkdir(): Promise<void> {}
  async symlink(target: string, path: string): Promise<void> {
    this.links.set(path, target);
  }
  async rename(from: string, to: string): Promise<void> {
    const target = this.links.get(from);
    if (target !== undefined) this.links.set(to, target);
    this.links.delete(from);
  }
  async unlink(path: string): Promise<void> {
    this.content.delete(path);
  }
}

/** An API server with one approver, who does what he is told. */
class Approver implements KubeApi {
  readonly signer = new TestSigner();
  readonly made: CertificateSigningRequest[] = [];
  answer: 'sign' | 'deny' | 'refuse' = 'sign';
  lifetime = 10 * HOUR;
  readonly #clock: SimClock;

  constructor(clock: SimClock) {
    this.#clock = clock;
  }

  async request<T>(call: KubeCall): Promise<T> {
    if (call.method === 'GET') return this.made.find((csr) => call.path.endsWith(csr.metadata.name)) as T;
    if (this.answer === 'refuse') throw new KubeError('Forbidden', 'POST', 'no');
    const csr = structuredClone(call.body) as CertificateSigningRequest;
    csr.metadata.name ??= `csr-${this.made.length}`;
    if (this.made.some((other) => other.metadata.name === csr.metadata.name)) throw new KubeError('AlreadyExists', 'POST', 'there');
    const now = this.#clock.now();
    const request = Buffer.from(csr.spec.request, 'base64').toString('utf8');
    csr.status =
      this.answer === 'sign'
        ? { certificate: Buffer.from(this.signer.sign(request, now, now + this.lifetime)).toString('base64') }
        : { conditions: [{ type: 'Denied', status: 'True', message: 'unknown node' }] };
    this.made.push(csr);
    return csr as T;
  }
  stream(): Promise<AsyncIterable<unknown>> {
    return Promise.reject(new Error('nothing is watched here'));
  }
}

describe('certificates over time', () => {
  let clock: SimClock;
  let files: Files;
  let api: Approver;
  let troubles: (CertificateTrouble | undefined)[];
  let used: string[];
  const random = new SimRandom(1);
  const deps = () => ({ api, clock, random, log: silentLogger });

  beforeEach(() => {
    clock = new SimClock();
    files = new Files();
    api = new Approver(clock);
    troubles = [];
    used = [];
  });

  const manager = async () => {
    const store = new CertificateStore('/pki', 'kubelet-client', files);
    return new CertificateManager(
      {
        ...deps(),
        kind: 'client',
        signerName: CLIENT_SIGNER,
        template: () => clientTemplate('n1'),
        store,
        changed: ({ leaf }) => used.push(leaf.serialNumber),
        trouble: (trouble) => troubles.push(trouble),
        metrics: { ttl: () => {}, rotated: () => {}, failed: () => {} },
      },
      await store.current(),
    );
  };
  /** Lets simulated time pass; keys are made in real threads, so their ends are waited for. */
  const pass = async (ms: number, until: () => boolean) => {
    await clock.advance(ms);
    for (let i = 0; i < 2000 && !until(); i++) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(0);
    }
    assert.ok(until(), 'it came to that');
  };

  it('are replaced before they end, for ever, each in a file of its own that only root reads', async () => {
    const service = await manager();
    const stop = new AbortController();
    service.start(stop.signal);
    await pass(0, () => used.length === 1);
    const first = files.links.get('/pki/kubelet-client-current.pem');
    await clock.advance(6.9 * HOUR);
    assert.equal(used.length, 1, 'not before 70 percent');
    await pass(2.2 * HOUR, () => used.length === 2);
    const second = files.links.get('/pki/kubelet-client-current.pem');
    assert.notEqual(first, second);
    assert.match(second ?? '', /^\/pki\/kubelet-client-\d{4}(-\d\d){5}\.pem$/);
    for (const path of [first, second]) assert.equal(files.modes.get(path ?? ''), 0o600);
    assert.ok(isValidAt((await new CertificateStore('/pki', 'kubelet-client', files).current())?.leaf ?? assert.fail(), clock.now()));
    assert.ok(service.health().ok);
    stop.abort();
    await service.stop();
  });

  it('that are denied are told, asked for again with growing waits, and all is well once one is signed', async () => {
    api.answer = 'deny';
    const service = await manager();
    const stop = new AbortController();
    service.start(stop.signal);
    await pass(0, () => troubles.length === 1);
    assert.equal(troubles[0]?.reason, 'Denied');
    await pass(2_100, () => troubles.length === 2);
    await clock.advance(3_000);
    assert.equal(troubles.length, 2, 'the second wait is longer');
    api.answer = 'refuse';
    await pass(1_100, () => troubles.length === 3);
    assert.equal(troubles[2]?.reason, 'RequestFailed');
    api.answer = 'sign';
    await pass(8_100, () => used.length === 1);
    assert.equal(troubles.at(-1), undefined);
    stop.abort();
    await service.stop();
  });

  it('survive a full disk: the old one stays in use', async () => {
    const service = await manager();
    const stop = new AbortController();
    service.start(stop.signal);
    await pass(0, () => used.length === 1);
    const before = files.links.get('/pki/kubelet-client-current.pem');
    files.fail = 'no space left';
    await pass(9.1 * HOUR, () => troubles.some((t) => t?.message === 'no space left'));
    assert.equal(files.links.get('/pki/kubelet-client-current.pem'), before);
    files.fail = undefined;
    await pass(40_000, () => used.length === 2);
    stop.abort();
    await service.stop();
  });

  it("of a first start: the kubeconfig is the owner's alone, the waiting key goes, a restart asks for the same", async () => {
    const input = {
      nodeName: 'n1',
      certDir: '/pki',
      kubeconfig: '/etc/kubelet.conf',
      cluster: { server: 'https://api:6443', caPem: 'CA', serverName: undefined, insecure: false },
    };
    const held = await bootstrapClient(deps(), files, input, new AbortController().signal);
    assert.equal(files.modes.get('/etc/kubelet.conf'), 0o600);
    const written = JSON.parse(files.content.get('/etc/kubelet.conf') ?? '') as { users: { user: Record<string, string> }[] };
    assert.equal(written.users[0]?.user['client-key'], '/pki/kubelet-client-current.pem');
    assert.ok(!files.content.has('/pki/kubelet-client.key.tmp'));
    assert.match(held.keyPem, /BEGIN EC PRIVATE KEY/);
    // As after a kill between the request and its answer: the key is there, and so is the request.
    files.content.set('/pki/kubelet-client.key.tmp', held.keyPem);
    await bootstrapClient(deps(), files, input, new AbortController().signal);
    assert.equal(api.made.length, 1);
  });

  it('of a first start that is denied: another key, another request', async () => {
    api.answer = 'deny';
    const stop = new AbortController();
    const input = {
      nodeName: 'n1',
      certDir: '/pki',
      kubeconfig: '/k',
      cluster: { server: 's', caPem: undefined, serverName: undefined, insecure: true },
    };
    const done = bootstrapClient(deps(), files, input, stop.signal);
    await pass(0, () => api.made.length === 1 && !files.content.has('/pki/kubelet-client.key.tmp'));
    api.answer = 'sign';
    await pass(5_100, () => files.content.has('/k'));
    await done;
    assert.equal(new Set(api.made.map((csr) => csr.metadata.name)).size, 2);
  });

  it('that are no pair are refused with the file and what to do', async () => {
    const key = privateKeyPem(await newPrivateKey());
    const other = await newPrivateKey();
    const pem = api.signer.sign(certificateRequest(clientTemplate('n'), other, createPublicKey(other)), 0, HOUR);
    assert.throws(() => heldCertificate(pem), /no private key/);
    assert.throws(() => heldCertificate(key), /no certificate/);
    files.content.set('/pki/kubelet-client-current.pem', pem + key);
    await assert.rejects(
      new CertificateStore('/pki', 'kubelet-client', files).current(),
      /kubelet-client-current\.pem cannot be used: the key is not.*remove it/,
    );
  });

  it('that have ended for five minutes end the agent, not before, and not once one came', async () => {
    const expiry = new ClientExpiry(clock, silentLogger, clock.now() + 60_000);
    let lost = '';
    expiry.lost.catch((err: Error) => {
      lost = err.message;
    });
    const stop = new AbortController();
    expiry.start(stop.signal);
    await clock.advance(60_000 + 290_000);
    assert.equal(lost, '');
    expiry.validUntil(clock.now() + 60_000);
    await clock.advance(60_000 + 200_000);
    assert.equal(lost, '');
    assert.ok(!expiry.health().ok);
    await clock.advance(120_000);
    assert.match(lost, /no valid client certificate for 5 minutes/);
    stop.abort();
    await expiry.stop();
  });
});

describe('troubles with certificates', () => {
  it('show in a condition once there were any, and in an event for each kind', () => {
    const events: string[] = [];
    const troubles = new CertificateTroubles((reason) => events.push(reason));
    assert.deepEqual(troubles.conditions(), []);
    troubles.note('serving', { reason: 'Denied', message: 'no' });
    troubles.note('serving', { reason: 'Denied', message: 'no again' });
    assert.deepEqual(events, ['CertificateDenied']);
    assert.deepEqual(troubles.conditions(), [
      { type: 'CertificateNotIssued', status: 'True', reason: 'Denied', message: 'serving certificate: no again' },
    ]);
    troubles.note('serving', undefined);
    assert.equal(troubles.conditions()[0]?.status, 'False');
  });
});

it('the kubeconfig says what the bootstrap one said of the server', () => {
  const text = kubeconfigText({ cluster: { server: 'https://x', caPem: undefined, serverName: 'api', insecure: true } }, '/p.pem');
  assert.deepEqual((JSON.parse(text) as { clusters: { cluster: object }[] }).clusters[0]?.cluster, {
    server: 'https://x',
    'tls-server-name': 'api',
    'insecure-skip-tls-verify': true,
  });
});
