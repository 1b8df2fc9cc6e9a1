import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { SimFiles } from '../../test/sim/files.ts';
import type { Pod } from '../api/types.ts';
import { ProgramError, type ProgramRun } from '../host/run-program.ts';
import { silentLogger } from '../observe/log.ts';
import { type OpenProvidersDeps, openProviders } from './open-providers.ts';

const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [] } };
const V1 = 'credentialprovider.kubelet.k8s.io/v1';
const config = (...names: string[]) =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: names.map((name) => ({
      name,
      matchImages: ['reg.io'],
      defaultCacheDuration: '0s',
      apiVersion: V1,
      args: ['get', '$(id)'],
      env: [{ name: 'MODE', value: 'own' }],
    })),
  });
const answer = (username: string) =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion: V1,
    cacheKeyType: 'Image',
    auth: { 'reg.io': { username, password: 'p' } },
  });

class World {
  readonly clock = new SimClock();
  readonly files = new SimFiles(this.clock);
  readonly runs: ProgramRun[] = [];
  readonly counted: unknown[] = [];
  readonly errors: string[] = [];
  run = async (_program: ProgramRun): Promise<string> => answer('u');

  constructor(files: Record<string, string>) {
    this.files.seed(files);
  }

  async program(path: string, mode = 0o755): Promise<void> {
    await this.files.write(path, '#!', mode);
  }

  open(more: Partial<OpenProvidersDeps> = {}) {
    return openProviders({
      config: '/etc/providers',
      binDir: '/bin',
      tokensEnabled: true,
      accounts: undefined,
      files: this.files,
      env: { PATH: '/usr/bin', MODE: 'agent' },
      run: (program) => {
        this.runs.push(program);
        return this.run(program);
      },
      clock: this.clock,
      log: { ...silentLogger, error: (err) => void this.errors.push(err instanceof Error ? err.message : String(err)) },
      metrics: {
        pluginRan: (...args) => void this.counted.push(args),
        configRead: (hash) => void this.counted.push(hash),
      },
      ...more,
    });
  }
}

test('a plug-in is run with its arguments, the environment of the agent and of its configuration, and the request', async () => {
  const world = new World({ '/etc/providers': config('plug'), '/bin/x': '' });
  await world.program('/bin/plug');
  const keyring = await world.open();
  world.run = async () => {
    await world.clock.advance(250);
    return answer('u');
  };
  const found = await keyring.lookup('reg.io/app', pod);
  assert.deepEqual(
    found.map((c) => c.login.username),
    ['u'],
  );
  const [run] = world.runs;
  assert.deepEqual([run?.file, run?.args, run?.env], ['/bin/plug', ['get', '$(id)'], { PATH: '/usr/bin', MODE: 'own' }]);
  assert.equal((JSON.parse(run?.input ?? '') as { image: string }).image, 'reg.io/app');
  assert.match(String(world.counted[0]), /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(world.counted.slice(1), [['plug', 0.25, false]]);
});

test('a plug-in that fails, takes over a minute or gives nonsense gives nothing, and the log says why', async () => {
  const world = new World({ '/etc/providers': config('plug'), '/bin/x': '' });
  await world.program('/bin/plug');
  const keyring = await world.open();
  world.run = async () => {
    throw new ProgramError('exit status 1', 'no cloud here\n', undefined);
  };
  assert.deepEqual(await keyring.lookup('reg.io/app', pod), []);
  world.run = (program) =>
    new Promise((_resolve, reject) => program.signal.addEventListener('abort', () => reject(program.signal.reason as Error)));
  const hanging = keyring.lookup('reg.io/app', pod);
  await world.clock.advance(60_000);
  assert.deepEqual(await hanging, []);
  world.run = async () => 'hello';
  assert.deepEqual(await keyring.lookup('reg.io/app', pod), []);
  assert.deepEqual(world.errors, [
    'credential provider plug-in plug: exit status 1: no cloud here',
    'credential provider plug-in plug: took more than 60 s',
    'the answer is no JSON',
  ]);
  // An answer that cannot be used is no failed run.
  assert.deepEqual(world.counted.slice(1), [
    ['plug', 0, true],
    ['plug', 60, true],
    ['plug', 0, false],
  ]);
});

test('a directory gives its .json, .yaml and .yml files by name', async () => {
  const files = { '/etc/providers/2.yaml': config('b'), '/etc/providers/1.json': config('a'), '/etc/providers/0.txt': 'x' };
  const world = new World({ ...files, '/etc/providers/sub.yml/3.yml': 'x', '/bin/x': '' });
  for (const name of ['a', 'b']) await world.program(`/bin/${name}`);
  const keyring = await world.open();
  world.run = async ({ file }) => answer(file);
  assert.deepEqual(
    (await keyring.lookup('reg.io/app', pod)).map((c) => c.login.username),
    ['/bin/a', '/bin/b'],
  );
  const again = await world.open().then(() => world.counted.at(-1));
  assert.equal(again, world.counted[0]);
  world.files.seed({ '/etc/providers/3.yaml': config('a') });
  await assert.rejects(world.open(), /^Error: --image-credential-provider-config: \/etc\/providers\/3\.yaml: .*"a" is taken/);
});

test('what is wrong with the flags names the flag', async () => {
  const world = new World({ '/etc/providers': config('plug'), '/empty/x.txt': '', '/bin/dir/x': '', '/bad': 'kind: X' });
  const configFlag = /^Error: --image-credential-provider-config: /;
  const binFlag = /^Error: --image-credential-provider-bin-dir: /;
  await assert.rejects(world.open({ config: '/none' }), configFlag);
  await assert.rejects(world.open({ config: '/empty' }), configFlag);
  await assert.rejects(world.open({ config: '/bad' }), configFlag);
  await assert.rejects(world.open({ binDir: '/none' }), binFlag);
  await assert.rejects(world.open({ binDir: '/bad' }), binFlag);
  await assert.rejects(world.open(), binFlag);
  await world.program('/bin/plug', 0o644);
  await assert.rejects(world.open(), /bin-dir: \/bin\/plug: it is not executable/);
  await world.files.unlink('/bin/plug');
  await world.program('/bin/plug');
  await world.open();
  assert.deepEqual(world.runs, []);
});
