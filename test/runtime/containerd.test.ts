import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { cleanUpStaleRuns } from '../../scripts/node/cleanUpRun.ts';
import { criReady } from '../../scripts/node/criReady.ts';
import { mustRun } from '../../scripts/node/run.ts';
import type { PodSandboxConfig } from '../../src/cri/types.ts';
import { BUSYBOX_IMAGE, connectTo, PAUSE_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { traces } from '../support/traces.ts';

/** Runs a pod with a process that ignores SIGTERM, on a host port and in the host's PID namespace: hard to remove. */
async function runStubbornPod(containerd: Pick<PrivateContainerd, 'endpoint' | 'cgroupRoot' | 'dir'>, hostPort: number): Promise<void> {
  const connected = await connectTo(containerd, 30_000);
  try {
    const config: PodSandboxConfig = {
      metadata: { name: 'stubborn', uid: 'u1', namespace: 'default', attempt: 0 },
      hostname: 'stubborn',
      logDirectory: join(containerd.dir, 'logs'),
      portMappings: [{ protocol: 'TCP', containerPort: 80, hostPort, hostIp: '' }],
      labels: {},
      annotations: {},
      linux: {
        cgroupParent: `${containerd.cgroupRoot}/kubepods/podu1`,
        securityContext: { namespaceOptions: { network: 'POD', pid: 'NODE', ipc: 'POD' } },
      },
    };
    const sandbox = await connected.runtime.runPodSandbox(config, '');
    const container = await connected.runtime.createContainer(
      sandbox,
      {
        metadata: { name: 'c', attempt: 0 },
        image: { image: BUSYBOX_IMAGE },
        command: ['sh', '-c', 'trap "" TERM; sleep 98765.4 & wait'],
        args: [],
        envs: [],
        mounts: [],
        devices: [],
        labels: {},
        annotations: {},
        linux: { securityContext: { namespaceOptions: { network: 'POD', pid: 'NODE', ipc: 'POD' } } },
      },
      config,
    );
    await connected.runtime.startContainer(container);
  } finally {
    connected.close();
  }
}

test('a private containerd knows its images, survives a kill with its containers running, and leaves nothing', async () => {
  const forwarding = await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8');
  const containerd = await startContainerd();
  let sleeping: string;
  try {
    const images = await containerd.ctr(['images', 'ls', '-q']);
    for (const name of [PAUSE_IMAGE, BUSYBOX_IMAGE]) assert.ok(images.split('\n').includes(name), images);
    await runStubbornPod(containerd, 18_431);
    assert.notDeepEqual(await traces(containerd), []);

    sleeping = await mustRun('pgrep', ['-f', 'sleep 98765.4']);
    await containerd.kill();
    assert.equal(await criReady(containerd.socket), false);
    assert.equal(containerd.pid(), undefined);
    await containerd.start();
    assert.equal(await criReady(containerd.socket), true);
    assert.equal(await mustRun('pgrep', ['-f', 'sleep 98765.4']), sleeping);

    await containerd.freeze();
    assert.equal(await criReady(containerd.socket), false);
    await containerd.thaw();
    assert.equal(await criReady(containerd.socket), true);
  } finally {
    await containerd.stop();
  }
  assert.deepEqual(await traces(containerd), []);
  for (const pid of sleeping.trim().split('\n'))
    assert.ok(!existsSync(`/proc/${pid}`) || (await readFile(`/proc/${pid}/stat`, 'utf8')).includes(') Z '));
  assert.equal(await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8'), forwarding);
});

test('two of them live side by side, and one ends without harm to the other', async () => {
  await using first = await startContainerd();
  const second = await startContainerd();
  assert.notEqual(first.subnet, second.subnet);
  await runStubbornPod(first, 18_432);
  await runStubbornPod(second, 18_433);
  await second.stop();
  assert.deepEqual(await traces(second), []);
  assert.equal(await criReady(first.socket), true);
  const rules = await mustRun('iptables-save', ['-t', 'nat']);
  assert.ok(rules.includes(`\\"${first.bridge}\\"`) && rules.includes('-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT'));
});

test('what a killed run left is removed by the next', async () => {
  const code = `
    import { startContainerd } from ${JSON.stringify(join(import.meta.dirname, '../support/containerd.ts'))};
    const c = await startContainerd();
    process.stdout.write(JSON.stringify({ index: c.index, endpoint: c.endpoint, bridge: c.bridge, cgroupRoot: c.cgroupRoot, dir: c.dir }) + '\\n');
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await new Promise<string>((resolve) => owner.stdout.once('data', (d) => resolve(String(d))))).split('\n');
  const left = JSON.parse(line ?? '') as { index: number; endpoint: string; bridge: string; cgroupRoot: string; dir: string };
  await runStubbornPod(left, 18_434);
  const gone = new Promise((resolve) => owner.once('exit', resolve));
  owner.kill('SIGKILL');
  await gone;
  assert.notDeepEqual(await traces(left), []);
  const said = await cleanUpStaleRuns();
  assert.ok(
    said.some((l) => l.includes(`number ${left.index},`)),
    said.join(),
  );
  assert.deepEqual(await traces(left), []);
});
