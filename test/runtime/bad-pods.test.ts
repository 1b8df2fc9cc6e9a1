import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { staticBusybox } from '../../scripts/images/exampleImages.ts';
import { type ImageSource, ociArchive } from '../../scripts/images/ociArchive.ts';
import type { TarEntry } from '../../scripts/images/tar.ts';
import type { Agent } from '../support/agent.ts';
import type { PrivateContainerd } from '../support/containerd.ts';
import { closedPort } from '../support/probe-servers.ts';
import {
  type AgentWorld,
  containerOf,
  leftOf,
  logFilesOf,
  putManifest,
  removeManifest,
  shownPods,
  startAgentWorld,
  testPod,
  until,
  untilReady,
} from './agent-world.ts';

const FOREVER = ['sleep', '100000'];
const MANY = 10_000;

/** Images whose configuration means no good. */
async function hostileImages(): Promise<Buffer> {
  const busybox = await readFile(await staticBusybox());
  const files: TarEntry[] = [
    { kind: 'folder', name: 'bin', mode: 0o755 },
    { kind: 'folder', name: 'etc', mode: 0o755 },
    { kind: 'file', name: 'etc/passwd', mode: 0o644, data: Buffer.from('root:x:0:0:root:/:/bin/sh\n') },
    { kind: 'file', name: 'bin/busybox', mode: 0o755, data: busybox },
    ...['sh', 'sleep', 'env', 'wc'].map((a): TarEntry => ({ kind: 'link', name: `bin/${a}`, target: 'busybox' })),
  ];
  const image = (name: string, config: ImageSource['config']): ImageSource => ({
    reference: `registry.local/${name}:1`,
    files,
    config: { Env: ['PATH=/bin'], Cmd: ['sleep', '100000'], ...config },
  });
  return ociArchive([
    image('no-user', { User: 'nosuch' }),
    image('many-env', { Env: ['PATH=/bin', ...Array.from({ length: MANY }, (_, i) => `HOSTILE_${i}=${'x'.repeat(20)}`)] }),
    image('folder-entry', { Entrypoint: ['/bin'] }),
  ]);
}

describe('pods of bad manners on a real containerd', () => {
  let world: AgentWorld;
  let containerd: PrivateContainerd;
  let agent: Agent;

  before(async () => {
    world = await startAgentWorld();
    ({ agent, containerd } = world);
    const archive = join(agent.dir, 'hostile.tar');
    await writeFile(archive, await hostileImages());
    await containerd.importImages(archive);
  });
  after(() => world?.stop());

  const put = (name: string, container: object, spec: object = {}, command = FOREVER) =>
    putManifest(agent, `${name}.yaml`, testPod(name, command, { container, spec }));
  const said = (what: string, pattern: RegExp) => until(agent, what, async () => pattern.test(await agent.log()));
  const image = (name: string) => ({ image: `registry.local/${name}:1`, command: undefined });
  const waiting = (name: string) =>
    until(agent, `${name} waits with a reason`, async () => {
      const state = (await containerOf(agent, name))?.state?.waiting;
      return state?.reason !== undefined && !['ContainerCreating', 'PodInitializing'].includes(state.reason) ? state : undefined;
    });

  it('an image whose USER does not exist: the container waits with the reason', async () => {
    await put('no-user', image('no-user'));
    await put('no-user-root', { ...image('no-user'), securityContext: { runAsNonRoot: true } });
    const state = await waiting('no-user');
    assert.match(state.reason ?? '', /^(CreateContainerError|RunContainerError)$/);
    assert.match(state.message ?? '', /no users found/);
    const refused = await waiting('no-user-root');
    assert.equal(refused.reason, 'CreateContainerConfigError');
    assert.match(refused.message ?? '', /runAsNonRoot and image has non-numeric user \(nosuch\)/);
    for (const name of ['no-user', 'no-user-root']) await removeManifest(agent, `${name}.yaml`);
  });

  it('an image with ten thousand variables runs, with all of them', async () => {
    await put('many-env', { ...image('many-env'), command: ['sh', '-c', 'env | wc -l; exec sleep 100000'] });
    await untilReady(agent, 'many-env');
    const text = await until(agent, 'its log', async () => {
      const [log] = await logFilesOf(agent, 'many-env');
      return log === undefined ? undefined : /F ([0-9]+)\n/.exec(await readFile(log, 'utf8'))?.[1];
    });
    assert.ok(Number(text) >= MANY, `${text} variables`);
    await removeManifest(agent, 'many-env.yaml');
  });

  it('an image whose entrypoint is a folder: the error is shown, then backed off', async () => {
    await put('folder-entry', image('folder-entry'));
    const state = await waiting('folder-entry');
    assert.match(state.reason ?? '', /^(RunContainerError|CrashLoopBackOff)$/);
    assert.match(await agent.log(), /(permission denied|is a directory)/);
    await removeManifest(agent, 'folder-entry.yaml');
  });

  it('NUL or a line break in the name of a variable: the manifest is refused by field, others go on', async () => {
    const withName = (name: string) => ({ env: [{ name, value: 'x' }] });
    await put('nul', withName('A\u0000B'));
    await put('break', withName('A\nB=C'));
    await put('equals', withName('A=B'));
    await put('fine', withName('a.b-c'));
    await untilReady(agent, 'fine');
    for (const name of ['nul', 'break', 'equals']) {
      await said(`${name} is refused`, new RegExp(`${name}\\.yaml[^\\n]*env\\[0\\]\\.name|env\\[0\\]\\.name[^\\n]*${name}\\.yaml`));
      assert.equal((await shownPods(agent)).has(name), false, name);
      await removeManifest(agent, `${name}.yaml`);
    }
    await removeManifest(agent, 'fine.yaml');
  });

  it('a line of 5 MiB in a log: split by the runtime, and its end is the termination message', async () => {
    const size = 5 * 2 ** 20;
    const command = ['sh', '-c', `head -c ${size} /dev/zero | tr '\\0' x; exit 3`];
    await put('long-line', { terminationMessagePolicy: 'FallbackToLogsOnError' }, { restartPolicy: 'Never' }, command);
    const ended = await until(agent, 'its end', async () => (await containerOf(agent, 'long-line'))?.state?.terminated);
    assert.deepEqual([ended.exitCode, /^x+$/.test(ended.message ?? '')], [3, true], ended.message?.slice(0, 80));
    assert.ok((ended.message ?? '').length <= 2048, `${ended.message?.length} bytes`);
    const [log = ''] = await logFilesOf(agent, 'long-line');
    assert.ok((await stat(log)).size > size, 'nothing of it is lost');
    await removeManifest(agent, 'long-line.yaml');
  });

  it('a postStart hook that hangs holds up its own pod only, and the pod can be deleted', async () => {
    const hangs = { lifecycle: { postStart: { exec: { command: ['sleep', '1000'] } } } };
    await put('hangs', hangs);
    await said('the container runs', /hangs-[^\n]*reason="Started"/);
    await put('beside', {});
    await untilReady(agent, 'beside');
    await removeManifest(agent, 'hangs.yaml');
    await until(agent, 'gone', async () => !(await shownPods(agent)).has('hangs'));
    await until(agent, 'nothing left', async () => (await leftOf(containerd, 'hangs')) === '');
    await removeManifest(agent, 'beside.yaml');
  });

  it('hooks that cannot work: nobody listens, no such port, a flood of output; each is told, none holds anything up', async () => {
    const port = await closedPort();
    await put('deaf', { lifecycle: { postStart: { httpGet: { host: '127.0.0.1', port } } } });
    await put('nameless', { lifecycle: { postStart: { httpGet: { host: '127.0.0.1', port: 'nobody' } } } });
    await put(
      'flood',
      { lifecycle: { preStop: { exec: { command: ['head', '-c', '104857600', '/dev/zero'] } } } },
      { terminationGracePeriodSeconds: 5 },
    );
    for (const name of ['deaf', 'nameless']) await said(name, new RegExp(`${name}-[^\\n]*reason="FailedPostStartHook"`));
    await untilReady(agent, 'flood');
    await removeManifest(agent, 'flood.yaml');
    await until(agent, 'gone', async () => !(await shownPods(agent)).has('flood'));
    await until(agent, 'nothing left', async () => (await leftOf(containerd, 'flood')) === '');
    for (const name of ['deaf', 'nameless']) await removeManifest(agent, `${name}.yaml`);
    assert.equal(await agent.healthy(), true);
  });
});
