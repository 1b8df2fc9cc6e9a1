import assert from 'node:assert/strict';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Pod } from '../../src/api/types.ts';
import { type ConnectedRuntime, connectRuntime } from '../../src/cri/connect.ts';
import { type CriError, isCriError } from '../../src/cri/errors.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../src/cri/types.ts';
import { systemClock } from '../../src/host/clock.ts';
import { isImageError } from '../../src/images/image-error.ts';
import { ImageManager } from '../../src/images/image-manager.ts';
import { noImageMetrics } from '../../src/images/image-metrics.ts';
import { emptyKeyring } from '../../src/images/keyring.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';

/** The CRI client against a real containerd: what the server in the unit tests cannot show. */

let daemon: PrivateContainerd;
let cri: ConnectedRuntime;
const observed = new Map<string, number>();

before(async () => {
  daemon = await startContainerd();
  cri = await connectRuntime({
    endpoint: daemon.endpoint,
    timeoutMs: 60_000,
    clock: systemClock,
    log: silentLogger,
    metrics: { observe: (operation) => void observed.set(operation, (observed.get(operation) ?? 0) + 1) },
  });
});

after(async () => {
  cri?.close();
  await daemon?.stop();
});

function sandboxOf(name: string): PodSandboxConfig {
  return {
    metadata: { name, uid: `uid-${name}`, namespace: 'default', attempt: 1 },
    hostname: name,
    logDirectory: join(daemon.dir, 'logs', name),
    dnsConfig: { servers: ['192.0.2.1'], searches: ['example.test'], options: [] },
    portMappings: [],
    labels: { 'io.kubernetes.pod.name': name },
    annotations: { note: 'kept' },
    linux: {
      cgroupParent: `${daemon.cgroupRoot}/${name}`,
      securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } },
    },
  };
}

function containerOf(script: string, more: Partial<ContainerConfig> = {}): ContainerConfig {
  return {
    metadata: { name: 'main', attempt: 4 },
    image: { image: BUSYBOX_IMAGE },
    command: ['/bin/sh', '-c', script],
    args: [],
    envs: [{ key: 'GREETING', value: 'grüß dich' }],
    mounts: [],
    devices: [],
    labels: { 'io.kubernetes.container.name': 'main' },
    annotations: { 'io.kubernetes.container.hash': 'abcd' },
    logPath: 'main.log',
    linux: { resources: { cpuShares: 100, memoryLimitInBytes: 64 * 1024 * 1024 } },
    ...more,
  };
}

async function runSandbox(config: PodSandboxConfig): Promise<string> {
  await mkdir(config.logDirectory ?? '', { recursive: true });
  return cri.runtime.runPodSandbox(config, '');
}

async function removeSandbox(id: string): Promise<void> {
  await cri.runtime.stopPodSandbox(id);
  await cri.runtime.removePodSandbox(id);
}

async function failureOf(work: Promise<unknown>): Promise<CriError> {
  try {
    await work;
  } catch (err) {
    if (isCriError(err)) return err;
    throw err;
  }
  throw new Error('the call succeeded');
}

test('the runtime says who and how it is', async () => {
  assert.equal(cri.version.runtimeName, 'containerd');
  const status = await cri.runtime.status();
  assert.deepEqual(
    status.conditions.filter((c) => c.status).map((c) => c.type),
    ['RuntimeReady', 'NetworkReady'],
  );
  assert.equal(status.info, undefined);
  assert.ok(Object.keys((await cri.runtime.verboseStatus()).info ?? {}).includes('config'));
});

test('one container from nothing to nothing', async () => {
  const config = sandboxOf('whole-life');
  const sandbox = await runSandbox(config);
  const status = await cri.runtime.podSandboxStatus(sandbox);
  assert.equal(status.state, 'ready');
  assert.deepEqual({ ...status.metadata }, config.metadata);
  assert.match(status.network?.ip ?? '', /^\d+\.\d+\.\d+\.\d+$/);
  assert.equal(status.namespaceOptions?.network, 'POD');
  assert.equal(status.namespaceOptions?.pid, 'CONTAINER');
  assert.ok(status.createdAt > 1_600_000_000_000_000_000n);

  const id = await cri.runtime.createContainer(sandbox, containerOf('trap "" TERM; echo "$GREETING"; exec sleep 600'), config);
  assert.equal((await cri.runtime.containerStatus(id)).state, 'created');
  await cri.runtime.startContainer(id);
  const running = await cri.runtime.containerStatus(id);
  assert.equal(running.state, 'running');
  assert.equal(running.metadata.attempt, 4);
  assert.equal(running.annotations['io.kubernetes.container.hash'], 'abcd');
  assert.equal(running.finishedAt, 0n);
  assert.ok(running.startedAt >= running.createdAt);

  const [listed, ...others] = await cri.runtime.listContainers({ podSandboxId: sandbox, state: 'running' });
  assert.equal(listed?.id, id);
  assert.equal(others.length, 0);
  assert.deepEqual(await cri.runtime.listContainers({ podSandboxId: sandbox, state: 'exited' }), []);
  assert.ok((await cri.runtime.listPodSandbox({ state: 'ready' })).some((s) => s.id === sandbox));

  const exec = await cri.runtime.execSync(id, ['/bin/sh', '-c', 'echo out; echo err >&2; exit 3'], 5);
  assert.deepEqual([String(exec.stdout), String(exec.stderr), exec.exitCode], ['out\n', 'err\n', 3]);
  await cri.runtime.updateContainerResources(id, { cpuShares: 200 });
  const log = join(config.logDirectory ?? '', 'main.log');
  assert.match(await readFile(log, 'utf8'), / stdout F grüß dich\n$/);
  await rename(log, `${log}.1`);
  await cri.runtime.reopenContainerLog(id);
  assert.equal(await readFile(log, 'utf8'), '');

  await cri.runtime.stopContainer(id, 2);
  const ended = await cri.runtime.containerStatus(id);
  assert.equal(ended.state, 'exited');
  assert.equal(ended.exitCode, 137);
  assert.ok(ended.finishedAt > ended.startedAt);
  await cri.runtime.removeContainer(id);
  assert.equal((await failureOf(cri.runtime.containerStatus(id))).code, 'NotFound');
  await cri.runtime.removeContainer(id);
  await removeSandbox(sandbox);
  assert.equal((await failureOf(cri.runtime.podSandboxStatus(sandbox))).code, 'NotFound');
  // Removing again is no error; stopping again is NotFound here, which the agent ignores.
  await cri.runtime.removePodSandbox(sandbox);
  const again = await cri.runtime.stopPodSandbox(sandbox).catch((err: unknown) => err);
  assert.ok(again === undefined || isCriError(again, 'NotFound'));
  assert.equal(observed.get('run_podsandbox'), 1);
  assert.deepEqual(cri.pendingCalls(), []);
});

test('user, groups and privileges arrive in the container', async () => {
  const config = sandboxOf('security');
  const sandbox = await runSandbox(config);
  const securityContext = { runAsUser: 65534, runAsGroup: 1234, supplementalGroups: [77], noNewPrivs: true, readonlyRootfs: true };
  const id = await cri.runtime.createContainer(sandbox, containerOf('exec sleep 600', { linux: { securityContext } }), config);
  await cri.runtime.startContainer(id);
  const { stdout } = await cri.runtime.execSync(
    id,
    ['/bin/sh', '-c', 'id -u; id -g; id -G; touch /x 2>&1; grep NoNewPrivs /proc/self/status'],
    5,
  );
  const [uid, gid, groups, touch, privileges] = String(stdout).split('\n');
  assert.deepEqual([uid, gid], ['65534', '1234']);
  assert.ok(groups?.split(' ').includes('77'), groups);
  assert.match(touch ?? '', /Read-only file system/);
  assert.match(privileges ?? '', /1$/);
  await removeSandbox(sandbox);
});

test('streaming URLs, statistics, and what this runtime does not know', async () => {
  const config = sandboxOf('extras');
  const sandbox = await runSandbox(config);
  const id = await cri.runtime.createContainer(sandbox, containerOf('exec sleep 600'), config);
  await cri.runtime.startContainer(id);
  const io = { containerId: id, tty: false, stdin: false, stdout: true, stderr: true };
  assert.match(await cri.streaming.exec({ ...io, cmd: ['true'] }), /^http:\/\/127\.0\.0\.1:\d+\/exec\//);
  assert.match(await cri.streaming.attach(io), /\/attach\//);
  assert.match(await cri.streaming.portForward(sandbox, [80]), /\/portforward\//);
  const stats = await cri.stats.containerStats(id);
  assert.equal(stats.id, id);
  assert.ok((stats.memory?.workingSetBytes ?? 0) > 0);
  assert.ok((stats.cpu?.usageCoreNanoSeconds ?? 0n) > 0n);
  assert.ok((await cri.stats.listContainerStats({ podSandboxId: sandbox })).some((s) => s.id === id));
  assert.equal((await cri.stats.podSandboxStats(sandbox)).containers[0]?.id, id);
  assert.ok((await cri.images.imageFsInfo())[0]?.mountpoint);
  if (daemon.version.startsWith('1.')) {
    assert.equal((await failureOf(cri.runtime.runtimeConfig())).code, 'Unimplemented');
    assert.equal(await cri.runtime.updatePodSandboxResources(sandbox, undefined, {}), false);
    assert.equal((await failureOf(cri.streaming.checkpointContainer(id, '/nowhere', 1))).code, 'Unimplemented');
  }
  await removeSandbox(sandbox);
});

test('exec that outlives its time is DeadlineExceeded, one that is missing is an error of the command', async () => {
  const config = sandboxOf('exec');
  const sandbox = await runSandbox(config);
  const id = await cri.runtime.createContainer(sandbox, containerOf('exec sleep 600'), config);
  await cri.runtime.startContainer(id);
  assert.equal((await failureOf(cri.runtime.execSync(id, ['sleep', '60'], 1))).code, 'DeadlineExceeded');
  assert.match((await failureOf(cri.runtime.execSync(id, ['/no/such'], 1))).message, /no such file/);
  const bad = await cri.runtime.createContainer(
    sandbox,
    containerOf('', { metadata: { name: 'bad', attempt: 0 }, command: ['/no/such'] }),
    config,
  );
  assert.match((await failureOf(cri.runtime.startContainer(bad))).message, /no such file/);
  const ended = await cri.runtime.containerStatus(bad);
  assert.deepEqual([ended.state, ended.reason], ['exited', 'StartError']);
  await removeSandbox(sandbox);
});

test('image manager: present, absent by policy, and a pull that no registry answers', async () => {
  const events: string[] = [];
  const manager = new ImageManager({
    images: cri.images,
    keyring: emptyKeyring,
    clock: systemClock,
    events: { event: (_object, _type, reason) => void events.push(reason) },
    metrics: noImageMetrics,
    limits: { serial: true, maxParallel: undefined, qps: 5, burst: 10 },
    verifyCredentials: true,
  });
  const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
  const ensure = (image: string, imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never') =>
    manager.ensureImage({
      pod,
      container: { image, imagePullPolicy },
      fieldPath: 'spec.containers{c}',
      sandboxConfig: sandboxOf('images'),
      signal: new AbortController().signal,
    });
  const { imageRef } = await ensure(BUSYBOX_IMAGE, 'IfNotPresent');
  assert.match(imageRef, /^sha256:[0-9a-f]{64}$/);
  await assert.rejects(ensure('registry.local/absent:1', 'Never'), (err) => isImageError(err, 'ErrImageNeverPull'));
  await assert.rejects(
    ensure('127.0.0.1:1/absent:1', 'IfNotPresent'),
    (err) => isImageError(err, 'ErrImagePull') && err.message.length > 20,
  );
  await assert.rejects(ensure('127.0.0.1:1/absent:1', 'IfNotPresent'), (err) => isImageError(err, 'ImagePullBackOff'));
  assert.deepEqual(events, ['Pulled', 'ErrImageNeverPull', 'Failed', 'Pulling', 'Failed', 'Failed', 'BackOff', 'Failed']);
  // The reference is what a container is made from.
  const config = sandboxOf('by-reference');
  const sandbox = await runSandbox(config);
  const byRef = containerOf('true', { image: { image: imageRef, userSpecifiedImage: BUSYBOX_IMAGE } });
  assert.ok(await cri.runtime.createContainer(sandbox, byRef, config));
  const missing = containerOf('true', { metadata: { name: 'm', attempt: 0 }, image: { image: `sha256:${'0'.repeat(64)}` } });
  assert.equal((await failureOf(cri.runtime.createContainer(sandbox, missing, config))).code, 'NotFound');
  await removeSandbox(sandbox);
});

test('a frozen runtime: the deadline ends the call, the report names it, and all is well after the thaw', async () => {
  await daemon.freeze();
  try {
    const hanging = failureOf(cri.runtime.listContainers(undefined, { timeoutMs: 700 }));
    const [pending] = cri.pendingCalls();
    assert.equal(pending?.operation, 'ListContainers');
    const err = await hanging;
    assert.deepEqual([err.code, err.message], ['DeadlineExceeded', 'context deadline exceeded']);
  } finally {
    await daemon.thaw();
  }
  assert.ok(Array.isArray(await cri.runtime.listContainers()));
});

test('an abort in the middle of RunPodSandbox leaves at most a sandbox that can be removed', async () => {
  const config = sandboxOf('aborted');
  await mkdir(config.logDirectory ?? '', { recursive: true });
  const abort = new AbortController();
  const starting = failureOf(cri.runtime.runPodSandbox(config, '', { signal: abort.signal }));
  await systemClock.sleep(20);
  abort.abort(new Error('no longer wanted'));
  assert.equal((await starting).code, 'Canceled');
  const left = await cri.runtime.listPodSandbox({ labelSelector: { 'io.kubernetes.pod.name': 'aborted' } });
  for (const sandbox of left) await removeSandbox(sandbox.id);
  assert.ok(left.length <= 1);
});

test('a killed and restarted runtime: Unavailable meanwhile, the same client and containers afterwards', async () => {
  const config = sandboxOf('survivor');
  const sandbox = await runSandbox(config);
  const id = await cri.runtime.createContainer(sandbox, containerOf('exec sleep 600'), config);
  await cri.runtime.startContainer(id);
  await daemon.kill();
  assert.equal((await failureOf(cri.runtime.version())).code, 'Unavailable');
  await daemon.start();
  const deadline = systemClock.monotonic() + 10_000;
  let state: string | undefined;
  while (state === undefined && systemClock.monotonic() < deadline) {
    try {
      state = (await cri.runtime.containerStatus(id)).state;
    } catch (err) {
      if (!isCriError(err, 'Unavailable')) throw err;
      await systemClock.sleep(50);
    }
  }
  assert.equal(state, 'running');
  await removeSandbox(sandbox);
});
