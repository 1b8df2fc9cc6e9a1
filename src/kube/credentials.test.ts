import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Files } from '../host/files.ts';
import { silentLogger } from '../observe/log.ts';
import { Credentials, type CredentialsDeps } from './credentials.ts';
import type { RunProgram } from './exec-credential.ts';

const pem = (name: string) => readFileSync(new URL(`../../test/fixtures/tls/${name}.pem`, import.meta.url));
const base64 = (name: string) => pem(name).toString('base64');
const never = new AbortController().signal;

/** A few files in memory. */
class MemoryFiles implements Pick<Files, 'read'> {
  readonly contents = new Map<string, string | Buffer>();
  reads = 0;
  async read(path: string): Promise<Buffer> {
    this.reads++;
    const found = this.contents.get(path);
    if (found === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return Buffer.from(found);
  }
}

function setUp(user: object, cluster: object = {}, files = new MemoryFiles()) {
  const clock = new SimClock();
  files.contents.set(
    '/etc/k/kubeconfig',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443/', 'certificate-authority-data': base64('ca'), ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const load = (run?: RunProgram) => {
    const deps: CredentialsDeps = { files, clock, log: silentLogger, ...(run ? { run } : {}) };
    return Credentials.load('/etc/k/kubeconfig', deps);
  };
  return { clock, files, load };
}

test('a kubeconfig in YAML, certificate by data', async () => {
  const { files, load } = setUp({});
  files.contents.set(
    '/etc/k/kubeconfig',
    `
apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {server: "https://api:6443", certificate-authority-data: ${base64('ca')}, tls-server-name: api.test}
contexts:
- name: x
  context: {cluster: c, user: u}
current-context: x
users:
- name: u
  user:
    client-certificate-data: ${base64('client-a')}
    client-key-data: ${base64('client-a-key')}
`,
  );
  const credentials = await load();
  assert.equal(credentials.server.href, 'https://api:6443/');
  const identity = await credentials.identity();
  assert.deepEqual(identity, {
    ca: pem('ca'),
    cert: pem('client-a'),
    key: pem('client-a-key'),
    serverName: 'api.test',
    insecure: false,
  });
  assert.deepEqual(await credentials.headers(never), {});
  assert.equal(credentials.rejected(), false);
});

test('certificate files: relative to the kubeconfig, read again when they change, kept while a pair does not fit', async () => {
  const { clock, files, load } = setUp({ 'client-certificate': 'pki/current.pem', 'client-key': '/etc/k/pki/current.pem' });
  const both = (name: string) => Buffer.concat([pem(name), pem(`${name}-key`)]);
  files.contents.set('/etc/k/pki/current.pem', both('client-a'));
  const credentials = await load();
  const first = await credentials.identity();
  assert.deepEqual(first.cert, both('client-a'));
  const reads = files.reads;
  assert.equal(await credentials.identity(), first);
  assert.equal(files.reads, reads, 'no file is read for each request');
  // Half of a rotation: certificate of one, key of the other.
  files.contents.set('/etc/k/pki/current.pem', Buffer.concat([pem('client-b'), pem('client-a-key')]));
  await clock.advance(11_000);
  assert.equal(await credentials.identity(), first);
  files.contents.set('/etc/k/pki/current.pem', both('client-b'));
  await clock.advance(11_000);
  const second = await credentials.identity();
  assert.notEqual(second, first);
  assert.deepEqual(second.cert, both('client-b'));
  files.contents.delete('/etc/k/pki/current.pem');
  await clock.advance(11_000);
  assert.equal(await credentials.identity(), second);
  files.contents.set('/etc/k/pki/current.pem', both('client-a'));
  credentials.reread();
  assert.deepEqual((await credentials.identity()).cert, both('client-a'));
});

test('a token, and basic', async () => {
  assert.deepEqual(await (await setUp({ token: 'abc' }).load()).headers(never), { authorization: 'Bearer abc' });
  const basic = await setUp({ username: 'me', password: 'pässword' }).load();
  assert.deepEqual(await basic.headers(never), { authorization: `Basic ${Buffer.from('me:pässword').toString('base64')}` });
  const as = await setUp({ token: 'abc', as: 'other' }).load();
  assert.deepEqual(await as.headers(never), { authorization: 'Bearer abc', 'impersonate-user': 'other' });
});

test('a token file that rotates: soon after, and at once when the server refuses the old one', async () => {
  const { clock, files, load } = setUp({ tokenFile: 'token', token: 'loses' });
  files.contents.set('/etc/k/token', 'one\n');
  const credentials = await load();
  const header = async () => (await credentials.headers(never))['authorization'];
  assert.equal(await header(), 'Bearer one');
  files.contents.set('/etc/k/token', 'two\n');
  assert.equal(await header(), 'Bearer one');
  await clock.advance(10_000);
  assert.equal(await header(), 'Bearer two');
  files.contents.set('/etc/k/token', 'three\n');
  assert.equal(credentials.rejected(), true);
  assert.equal(await header(), 'Bearer three');
  files.contents.set('/etc/k/token', '');
  await clock.advance(10_000);
  assert.equal(await header(), 'Bearer three');
});

const exec = (more: object = {}) => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './plug', args: ['a'], env: [{ name: 'X', value: '1' }], ...more },
});
const answer = (status: object) => JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });

test('an exec plug-in: told of the cluster, run once for many, again when expired or refused', async () => {
  const { clock, load } = setUp(exec({ provideClusterInfo: true }));
  const runs: { command: string; args: readonly string[]; env: NodeJS.ProcessEnv }[] = [];
  let status: object = { token: 't1', expirationTimestamp: new Date(clock.now() + 60_000).toISOString() };
  const credentials = await load(async (command, args, env) => {
    runs.push({ command, args, env });
    return answer(status);
  });
  const header = async () => (await credentials.headers(never))['authorization'];
  assert.deepEqual(await Promise.all([header(), header(), header()]), Array(3).fill('Bearer t1'));
  assert.equal(runs.length, 1);
  assert.deepEqual([runs[0]?.command, runs[0]?.args, runs[0]?.env['X']], ['/etc/k/plug', ['a'], '1']);
  const info = JSON.parse(runs[0]?.env['KUBERNETES_EXEC_INFO'] ?? '') as { spec: { interactive: boolean; cluster: { server: string } } };
  assert.equal(info.spec.interactive, false);
  assert.equal(info.spec.cluster.server, 'https://10.0.0.1:6443');
  status = { token: 't2' };
  assert.equal(await header(), 'Bearer t1');
  await clock.advance(60_000);
  assert.equal(await header(), 'Bearer t2');
  assert.equal(credentials.rejected(), true);
  status = { clientCertificateData: pem('client-b').toString(), clientKeyData: pem('client-b-key').toString() };
  const identity = await credentials.identity();
  assert.deepEqual(identity.cert, pem('client-b'));
  assert.equal(await credentials.identity(), identity);
  assert.equal(await header(), undefined);
});

test('an exec plug-in that fails is an error that names it and not its output', async () => {
  for (const [output, expected] of [
    ['not json s3cr3t', /output is no JSON/],
    ['{"kind":"Other","token":"s3cr3t"}', /no ExecCredential/],
    [answer({}), /neither a token nor/],
    [answer({ clientCertificateData: 's3cr3t' }), /go together/],
    [answer({ token: 's3cr3t', expirationTimestamp: 'soon' }), /no time/],
    [undefined, /exit status 3\nget it there/],
  ] as const) {
    const credentials = await setUp(exec({ installHint: 'get it there' })).load(() =>
      output === undefined ? Promise.reject(new Error('exit status 3')) : Promise.resolve(output),
    );
    await assert.rejects(credentials.headers(never), (err: Error) => {
      assert.match(err.message, expected);
      assert.match(err.message, /exec: \/etc\/k\/plug/);
      assert.doesNotMatch(err.message, /s3cr3t/);
      return true;
    });
  }
});

test('a plug-in that hangs is ended after a minute', async () => {
  const { clock, load } = setUp(exec());
  const credentials = await load(
    (_c, _a, _e, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  const failed = assert.rejects(credentials.headers(never), /took more than 60 s/);
  await clock.advance(61_000);
  await failed;
});

test('what is wrong with a kubeconfig is said without its values', async () => {
  const cases: [string, object | string, RegExp][] = [
    ['no file', '', /cannot be read: ENOENT/],
    ['no YAML', 'users: [s3cr3t', /is not readable at line 1/],
    ['no JSON', '{"users": "s3cr3t', /is not readable at line/],
    ['empty', ' ', /no object/],
    ['half a pair', { 'client-certificate-data': base64('client-a') }, /go together/],
    [
      'a pair that does not fit',
      { 'client-certificate-data': base64('client-a'), 'client-key-data': base64('client-b-key') },
      /cannot be used/,
    ],
    ['no base64', { 'client-certificate-data': '*s3cr3t*', 'client-key-data': 'x' }, /client-certificate-data is not base64/],
    ['auth-provider', { 'auth-provider': { name: 'gcp', config: { 'access-token': 's3cr3t' } } }, /auth-provider was removed/],
    ['two ways', { token: 's3cr3t', username: 'u', password: 's3cr3t' }, /more than one way/],
    ['a missing token file', { tokenFile: '/none' }, /\/none cannot be read: ENOENT/],
    ['a token with a line end', { token: 's3cr3t\nx: y' }, /characters/],
    ['exec of an old version', { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } }, /apiVersion must be/],
    ['exec without command', { exec: { apiVersion: 'client.authentication.k8s.io/v1' } }, /command is not set/],
    ['exec with a terminal', exec({ interactiveMode: 'Always' }), /no terminal/],
  ];
  for (const [name, user, expected] of cases) {
    const { files, load } = setUp(typeof user === 'string' ? {} : user);
    if (user === '') files.contents.clear();
    else if (typeof user === 'string') files.contents.set('/etc/k/kubeconfig', user);
    await assert.rejects(load(), (err: Error) => {
      assert.match(err.message, expected, name);
      assert.match(err.message, /^kubeconfig \/etc\/k\/kubeconfig: /);
      assert.doesNotMatch(err.message, /s3cr3t/);
      return true;
    });
  }
  await assert.rejects(setUp({}, { 'proxy-url': 'http://p' }).load(), /proxy-url is not supported/);
  await assert.rejects(setUp({}, { 'insecure-skip-tls-verify': true }).load(), /exclude each other/);
  await assert.rejects(setUp({}, { server: 'https://:bad' }).load(), /server is no URL/);
});

test('a real program: its output is the credential, its exit status the error', async () => {
  const good = await setUp(exec({ command: '/bin/sh', args: ['-c', `echo '${answer({ token: 'real' })}'`] })).load();
  assert.equal((await good.headers(never))['authorization'], 'Bearer real');
  const bad = await setUp(exec({ command: '/bin/sh', args: ['-c', 'exit 7'] })).load();
  await assert.rejects(bad.headers(never), /exec: \/bin\/sh: exit status 7/);
  const none = await setUp(exec({ command: '/no/such/program' })).load();
  await assert.rejects(none.headers(never), /ENOENT/);
});
