import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ociArchive } from '../../scripts/images/ociArchive.ts';
import { type Agent, removePods, startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { type FaultyRegistries, faultyRegistries, shellImage } from '../support/registries.ts';
import { containerOf, putManifest, removeManifest, shownPods, testPod, until, untilReady } from './agent-world.ts';

/** Pulls through a real containerd from registries on loopback that ask, dawdle, break, refuse, or are not there. */

const Login = { username: 'me', password: 'pa:ss' };

let registries: FaultyRegistries;
/** What the tests put down. */
let work: string;
let daemon: PrivateContainerd;
let agent: Agent;

before(async () => {
  registries = await faultyRegistries(Login);
  const { basic, token, mistrusted } = registries;
  work = await mkdtemp(join(tmpdir(), 'kts-registries-'));
  // Loopback counts as insecure for containerd unless it is told that the registry speaks TLS.
  daemon = await startContainerd({ registries: { [mistrusted.host]: `https://${mistrusted.host}` } });
  const dockerConfig = { auths: { [basic.host]: Login, [token.host]: Login } };
  agent = await startAgent({ containerd: daemon, dockerConfig, config: { serializeImagePulls: false, registryPullQPS: 0 } });
  await agent.waitHealthy();
});

after(async () => {
  await agent?.kill('SIGTERM');
  if (daemon !== undefined) await removePods(daemon.endpoint);
  await daemon?.stop();
  await registries?.[Symbol.asyncDispose]();
  await rm(work, { recursive: true, force: true });
});

/** Puts a pod of the registry's image. */
async function want(name: string, host: string, policy = 'IfNotPresent'): Promise<void> {
  const container = { image: `${host}/app:1`, imagePullPolicy: policy, command: undefined };
  await putManifest(agent, `${name}.json`, testPod(name, [], { container }));
}

/** Waits until the container waits for this reason; gives its message. */
function waits(name: string, reason: string, timeoutMs?: number): Promise<string> {
  const look = async () => {
    const state = (await containerOf(agent, name))?.state?.waiting;
    return state?.reason === reason && (state.message ?? '');
  };
  return until(agent, `${name} waits for ${reason}`, look, timeoutMs);
}

/** The events of a pod as the agent logged them: `Reason message`, in order. */
async function events(pod: string): Promise<string[]> {
  const of = new RegExp(`"Event occurred" object="default/${pod}-[^"]*" .* reason="([A-Za-z]+)" message="((?:[^"\\\\]|\\\\.)*)"`, 'gm');
  return [...(await agent.log()).matchAll(of)].map(([, reason, message]) => `${reason} ${JSON.parse(`"${message}"`) as string}`);
}

const ofImages = (list: readonly string[]) => list.filter((text) => /^(Pull|Failed|BackOff|ErrImage|Inspect)/.test(text));

test('private registries, with a login at each request and with a token, by the docker configuration of the node', async () => {
  const { basic, token } = registries;
  await want('basic', basic.host);
  await want('token', token.host);
  await untilReady(agent, 'basic');
  await untilReady(agent, 'token');
  assert.ok(basic.users.includes('me') && token.users.includes('me'), `${basic.users} ${token.users}`);
  const [pulling, pulled, ...more] = ofImages(await events('basic'));
  assert.equal(pulling, `Pulling Pulling image "${basic.host}/app:1"`);
  assert.match(pulled ?? '', /^Pulled Successfully pulled image "127.*" in \S+s \(\S+s including waiting\)\. Image size: \d+ bytes\.$/);
  assert.deepEqual(more, []);
});

test('a registry whose login the node does not know: tried anonymously once, told, and backed off', async () => {
  const { closed } = registries;
  await want('closed', closed.host);
  const image = `${closed.host}/app:1`;
  const message = await waits('closed', 'ErrImagePull');
  assert.match(message, /401 Unauthorized|authorization failed/);
  assert.equal(await waits('closed', 'ImagePullBackOff'), `Back-off pulling image "${image}": ErrImagePull: ${message}`);
  const told = ofImages(await events('closed'));
  assert.deepEqual(told.slice(0, 5), [
    `Pulling Pulling image "${image}"`,
    `Failed Failed to pull image "${image}": ${message}`,
    'Failed Error: ErrImagePull',
    `BackOff Back-off pulling image "${image}"`,
    'Failed Error: ImagePullBackOff',
  ]);
  assert.ok(closed.users.length > 0 && closed.users.every((user) => user === ''), closed.users.join());
  await removeManifest(agent, 'closed.json');
});

test('a slow registry holds up its own pod only', async () => {
  await want('slow', registries.slow.host);
  await until(agent, 'the slow pull begun', async () => (await events('slow')).some((text) => text.startsWith('Pulling')));
  await putManifest(agent, 'quick.json', testPod('quick', ['sleep', '100000']));
  await untilReady(agent, 'quick');
  assert.equal((await containerOf(agent, 'slow'))?.state?.waiting?.reason, 'ContainerCreating');
  await untilReady(agent, 'slow');
  await removeManifest(agent, 'quick.json');
});

test('registries that break off, refuse for the load, show a bad certificate, or are gone: each is told, and tried again', async () => {
  const { broken, limited, mistrusted, gone } = registries;
  const faults = [
    { name: 'broken', host: broken.host, said: /unexpected EOF|connection reset|unexpected status|failed to copy/ },
    { name: 'limited', host: limited.host, said: /429 Too Many Requests/ },
    { name: 'mistrusted', host: mistrusted.host, said: /x509: certificate signed by unknown authority/ },
    { name: 'gone', host: gone, said: /connection refused/ },
  ];
  for (const { name, host } of faults) await want(name, host);
  await Promise.all(
    faults.map(async ({ name, host, said }) => {
      assert.match(await waits(name, 'ImagePullBackOff'), said, name);
      const told = ofImages(await events(name));
      assert.match(told.find((text) => text.startsWith(`Failed Failed to pull image "${host}/app:1": `)) ?? '', said, name);
    }),
  );
  assert.ok(await agent.healthy());
  // What the registry had only for a while is over: the pods come up by themselves after their back-off of ten seconds.
  broken.heal();
  limited.relent();
  await Promise.all(['broken', 'limited'].map((name) => untilReady(agent, name, 60_000)));
  for (const { name } of faults) await removeManifest(agent, `${name}.json`);
});

test('a registry that streams for ever is left when the pod is deleted, and other pulls go on beside it', async () => {
  const { endless, basic } = registries;
  await want('endless', endless.host);
  await until(agent, 'the stream begun', async () => (await endless.connections()) > 0 && (await events('endless')).length > 0);
  await want('other', basic.host, 'Always');
  await untilReady(agent, 'other');
  assert.equal((await containerOf(agent, 'endless'))?.state?.waiting?.reason, 'ContainerCreating');
  await removeManifest(agent, 'endless.json');
  await until(agent, 'endless gone', async () => !(await shownPods(agent)).has('endless'));
  await until(agent, 'the pull ended', async () => (await endless.connections()) === 0);
  await removeManifest(agent, 'other.json');
});

test('images with a hostile configuration: an unknown user, ten thousand variables, a folder for a program', async () => {
  const env = Array.from({ length: 10_000 }, (_, i) => `HOSTILE_VARIABLE_${i}=${'x'.repeat(20)}`);
  const script = 'exec /busybox sleep 100000';
  const archive = join(work, 'hostile.tar');
  await writeFile(
    archive,
    ociArchive([
      await shellImage('registry.local/ghost:1', script, { User: 'ghost' }),
      await shellImage('registry.local/crowded:1', script, { Env: env }),
      await shellImage('registry.local/folder:1', script, { Entrypoint: ['/proc'], Cmd: [] }),
      await shellImage('registry.local/relative:1', script, { WorkingDir: '../../../etc' }),
    ]),
  );
  await daemon.importImages(archive);
  const names = ['ghost', 'crowded', 'folder', 'relative'];
  for (const name of names) {
    const container = { image: `registry.local/${name}:1`, imagePullPolicy: 'Never', command: undefined };
    await putManifest(agent, `${name}.json`, testPod(name, [], { container }));
  }
  assert.match(await waits('ghost', 'CreateContainerError'), /no users found|unable to find user ghost/);
  await untilReady(agent, 'crowded');
  const ended = await until(agent, 'folder refused', async () => {
    const status = await containerOf(agent, 'folder');
    return status?.lastState?.terminated ?? status?.state?.terminated;
  });
  assert.match(ended.message ?? '', /is a directory|permission denied/);
  assert.equal(ended.exitCode, 128);
  assert.equal(ended.reason, 'StartError');
  await putManifest(agent, 'after.json', testPod('after', ['sleep', '100000'], { container: { image: BUSYBOX_IMAGE } }));
  await untilReady(agent, 'after');
  for (const name of [...names, 'after']) await removeManifest(agent, `${name}.json`);
  await until(agent, 'all of them gone', async () => {
    const shown = await shownPods(agent);
    return [...names, 'after'].every((name) => !shown.has(name));
  });
});
