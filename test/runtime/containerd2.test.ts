import assert from 'node:assert/strict';
import { access, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePorts } from '../../scripts/node/freePort.ts';
import { run } from '../../scripts/node/run.ts';
import { type Agent, removePods, startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, connectTo, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { currentContainerd } from '../support/currentContainerd.ts';
import { execWebSocket, exitCode, type KubeletClient } from '../support/kubeletClient.ts';
import { containerOf, putManifest, removeManifest, shownPods, testPod, until, untilReady } from './agent-world.ts';

/** What a current containerd has beyond the distribution's: image volumes, recursive read-only mounts, user namespaces, events. */

const Unit = 65_536;
let daemon: PrivateContainerd;
let agent: Agent;
let client: KubeletClient;
/** Why no pod can have a user namespace here; undefined when it can. */
let noUserNamespaces: string | undefined;

before(
  async () => {
    daemon = await startContainerd({ binary: await currentContainerd((line) => process.stderr.write(`${line}\n`)) });
    const [port = 0] = await freePorts(1);
    client = { port };
    const authentication = { anonymous: { enabled: true }, webhook: { enabled: false } };
    agent = await startAgent({ containerd: daemon, config: { port, authentication } });
    await agent.waitHealthy();
    const { code, stderr } = await run('unshare', ['--user', '--map-root-user', 'true']);
    if (code !== 0) noUserNamespaces = `the kernel gives no user namespaces: ${stderr.trim()}`;
  },
  { timeout: 900_000 },
);

after(async () => {
  await agent?.kill('SIGTERM');
  if (daemon !== undefined) await removePods(daemon.endpoint);
  await daemon?.stop();
});

/** Runs a shell command in the pod's container; gives what it wrote and how it ended. */
async function shell(pod: string, command: string): Promise<{ output: string; code: number }> {
  const found = (await shownPods(agent)).get(pod);
  const args = ['sh', '-c', `${command} 2>&1`].map((word) => `command=${encodeURIComponent(word)}`).join('&');
  const path = `/exec/default/${found?.metadata.name}/c?${args}&output=1`;
  const { stdout, status } = await execWebSocket(client, path, 'v5.channel.k8s.io');
  return { output: stdout.toString().trim(), code: exitCode(status) };
}

/** A metric without labels; undefined when the agent does not show it. */
async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(`${agent.url}/metrics`)).text();
  const found = text.split('\n').find((line) => line.startsWith(`${name} `));
  return found === undefined ? undefined : Number(found.slice(name.length));
}

async function uidOf(name: string): Promise<string> {
  return (await shownPods(agent)).get(name)?.metadata.uid ?? assert.fail(`no pod ${name}`);
}

/** A pod is to sleep with one volume, mounted at /v. */
function withVolume(name: string, volume: object, mount: object = {}, spec: object = {}): object {
  return testPod(name, ['sleep', '1000'], {
    container: { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] },
    spec: { volumes: [{ name: 'v', ...volume }], ...spec },
  });
}

test('containerd 2: a pod runs, is probed and entered, comes back after its end, and goes with its manifest', async () => {
  assert.match(daemon.version, /^2\./);
  const probe = { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 };
  const command = ['sh', '-c', 'touch /tmp/ready; until test -e /tmp/end; do sleep 0.1; done'];
  await putManifest(agent, 'basic.json', testPod('basic', command, { container: { readinessProbe: probe } }));
  await untilReady(agent, 'basic');
  assert.deepEqual(await shell('basic', 'echo "$HOSTNAME"; exit 7'), {
    output: (await shownPods(agent)).get('basic')?.metadata.name,
    code: 7,
  });
  await shell('basic', 'touch /tmp/end');
  const { imageID } = await until(agent, 'a restart of basic', async () => {
    const status = await containerOf(agent, 'basic');
    return status?.restartCount === 1 && status.state?.running !== undefined && status;
  });
  assert.match(imageID ?? '', /sha256:/);
  await removeManifest(agent, 'basic.json');
  await until(agent, 'basic gone', async () => !(await shownPods(agent)).has('basic'));
});

test('containerd 2: its event stream is read', async () => {
  assert.doesNotMatch(await agent.log(), /The runtime has no event stream|The event stream of the runtime ended/);
  const cri = await connectTo(daemon, 60_000);
  try {
    await putManifest(agent, 'eventful.json', testPod('eventful', ['sleep', '1000']));
    for await (const { containerId, type } of cri.runtime.containerEvents(AbortSignal.timeout(30_000))) {
      if (type === 'STARTED') {
        assert.match(containerId, /^[0-9a-f]{64}$/);
        break;
      }
    }
  } finally {
    cri.close();
  }
  await untilReady(agent, 'eventful');
  await removeManifest(agent, 'eventful.json');
});

test('containerd 2: the files of an image as a volume, whole and a sub path, read-only, with the pod’s policy', async () => {
  const image = { reference: BUSYBOX_IMAGE, pullPolicy: 'Never' };
  await putManifest(agent, 'image.json', withVolume('image', { image }));
  await putManifest(agent, 'part.json', withVolume('part', { image }, { subPath: 'etc' }));
  await untilReady(agent, 'image');
  await untilReady(agent, 'part');
  assert.deepEqual(await shell('image', 'cmp /bin/busybox /v/bin/busybox && echo same'), { output: 'same', code: 0 });
  assert.equal((await shell('image', 'touch /v/new')).code, 1);
  assert.deepEqual(await shell('part', 'grep -c root /v/passwd'), { output: '1', code: 0 });
  assert.equal(await metric('kubelet_image_volume_requested_total'), 2);
  assert.equal(await metric('kubelet_image_volume_mounted_succeed_total'), 2);
});

test('containerd 2: an image volume that cannot be had is the reason why the container waits, and holds up nobody else', async () => {
  const image = { reference: 'registry.local/absent:1', pullPolicy: 'Never' };
  await putManifest(agent, 'lost.json', withVolume('lost', { image }));
  const waiting = await until(agent, 'lost to be refused', async () => {
    const state = (await containerOf(agent, 'lost'))?.state?.waiting;
    return state?.reason === 'ErrImageNeverPull' && state;
  });
  assert.equal(waiting.message, 'Container image "registry.local/absent:1" is not present with pull policy of Never');
  const name = 'missing-path';
  await putManifest(agent, 'path.json', withVolume(name, { image: { reference: BUSYBOX_IMAGE } }, { subPath: 'no/such' }));
  await until(agent, 'the missing sub path to be told', async () => {
    const state = (await containerOf(agent, name))?.state?.waiting;
    return state?.reason === 'CreateContainerError' && /ImageVolumeMountFailed|no such/.test(state.message ?? '');
  });
  await removeManifest(agent, 'lost.json');
  await removeManifest(agent, 'path.json');
});

test('containerd 2: recursive read-only mounts', async () => {
  const folder = join(dirname(daemon.dir), 'rro');
  await daemon.ownFolder(folder);
  await mkdir(join(folder, 'below'), { recursive: true });
  assert.equal((await run('mount', ['-t', 'tmpfs', 'kts', join(folder, 'below')])).code, 0);
  const hostPath = { path: folder };
  await putManifest(agent, 'rro.json', withVolume('rro', { hostPath }, { readOnly: true, recursiveReadOnly: 'Enabled' }));
  await putManifest(agent, 'maybe.json', withVolume('maybe', { hostPath }, { readOnly: true, recursiveReadOnly: 'IfPossible' }));
  await putManifest(agent, 'plain.json', withVolume('plain', { hostPath }, { readOnly: true }));
  for (const [name, code] of [
    ['rro', 1],
    ['maybe', 1],
    ['plain', 0],
  ] as const) {
    await untilReady(agent, name);
    assert.equal((await shell(name, 'touch /v/x')).code, 1, `${name}: the mount itself`);
    assert.equal((await shell(name, `touch /v/below/${name}`)).code, code, `${name}: a mount below it`);
  }
  const mount = async (name: string) => (await containerOf(agent, name))?.volumeMounts?.find((m) => m.mountPath === '/v');
  assert.equal((await mount('maybe'))?.recursiveReadOnly, 'Enabled');
  for (const name of ['rro', 'maybe', 'plain']) await removeManifest(agent, `${name}.json`);
});

test('containerd 2: pods of their own user namespaces', async (t) => {
  if (noUserNamespaces !== undefined) return t.skip(noUserNamespaces);
  const pod = (name: string) => withVolume(name, { emptyDir: {} }, {}, { hostUsers: false });
  await putManifest(agent, 'first.json', pod('first'));
  await untilReady(agent, 'first');
  await putManifest(agent, 'second.json', pod('second'));
  await untilReady(agent, 'second');
  const map = (first: number) => `0 ${first} ${Unit}`;
  const idMap = async (name: string, kind: 'uid' | 'gid') => (await shell(name, `cat /proc/self/${kind}_map`)).output.replace(/ +/g, ' ');
  for (const kind of ['uid', 'gid'] as const) {
    assert.equal(await idMap('first', kind), map(Unit));
    assert.equal(await idMap('second', kind), map(2 * Unit));
  }

  // Root of the container is nobody on the host, and its files in a volume are root's all the same: the mount maps ids.
  assert.deepEqual(await shell('first', 'id -u; touch /v/mine; stat -c %u:%g /v/mine; cat /etc/hosts >/dev/null && echo hosts'), {
    output: '0\n0:0\nhosts',
    code: 0,
  });
  const uid = await uidOf('first');
  const { uid: owner } = await stat(join(agent.rootDir, 'pods', uid, 'volumes/kubernetes.io~empty-dir/v/mine'));
  assert.equal(owner, 0);
  const kept = JSON.parse(await readFile(join(agent.rootDir, 'pods', uid, 'userns'), 'utf8')) as unknown;
  const mapping = [{ hostId: Unit, containerId: 0, length: Unit }];
  assert.deepEqual(kept, { uidMappings: mapping, gidMappings: mapping });

  // A new agent knows who has what.
  await agent.kill('SIGKILL');
  await agent.start();
  await agent.waitHealthy();
  await putManifest(agent, 'third.json', pod('third'));
  await untilReady(agent, 'third');
  assert.equal(await idMap('third', 'uid'), map(3 * Unit));
  assert.equal((await containerOf(agent, 'first'))?.restartCount, 0);

  // What a pod gave back the next one gets.
  await removeManifest(agent, 'first.json');
  const file = join(agent.rootDir, 'pods', uid, 'userns');
  await until(agent, 'the range of first given back', async () =>
    access(file).then(
      () => false,
      () => true,
    ),
  );
  await putManifest(agent, 'fourth.json', pod('fourth'));
  await untilReady(agent, 'fourth');
  assert.equal(await idMap('fourth', 'uid'), map(Unit));
  assert.equal(await metric('kubelet_started_user_namespaced_pods_total'), 2);
  assert.equal(await metric('kubelet_started_user_namespaced_pods_errors_total'), 0);
});
