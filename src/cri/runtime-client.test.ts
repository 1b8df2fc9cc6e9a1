import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriServer, type Handler, type Wire } from '../../test/support/criServer.ts';
import { systemClock } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { type ConnectedRuntime, connectRuntime } from './connect.ts';
import { isCriError } from './errors.ts';
import type { ContainerConfig, PodSandboxConfig } from './types.ts';

async function connected(
  handlers: Record<string, Handler>,
  run: (runtime: ConnectedRuntime, server: CriServer, observed: [string, boolean][]) => Promise<void>,
  listStreaming = false,
): Promise<void> {
  await using server = await CriServer.start(handlers);
  const observed: [string, boolean][] = [];
  const runtime = await connectRuntime({
    endpoint: server.endpoint,
    timeoutMs: 4_000,
    clock: systemClock,
    log: silentLogger,
    metrics: { observe: (operation, _seconds, failed) => void observed.push([operation, failed]) },
    listStreaming,
  });
  observed.length = 0;
  try {
    await run(runtime, server, observed);
  } finally {
    runtime.close();
  }
}

const sandboxConfig: PodSandboxConfig = {
  metadata: { name: 'web', uid: 'u-1', namespace: 'default', attempt: 2 },
  hostname: 'web',
  logDirectory: '/var/log/pods/default_web_u-1',
  dnsConfig: { servers: ['10.0.0.10'], searches: ['svc'], options: ['ndots:5'] },
  portMappings: [{ protocol: 'SCTP', containerPort: 80, hostPort: 8080, hostIp: '127.0.0.1' }],
  labels: { app: 'web' },
  annotations: { note: 'ä €' },
  linux: {
    cgroupParent: '/kubepods/burstable/podu-1',
    sysctls: { 'net.ipv4.ip_forward': '1' },
    securityContext: {
      namespaceOptions: { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' },
      runAsUser: 0,
      runAsGroup: 1000,
      supplementalGroups: [1, 4294967294],
      supplementalGroupsPolicy: 'Strict',
      seccomp: { profileType: 'Localhost', localhostRef: '/p.json' },
    },
    resources: { cpuShares: 102, memoryLimitInBytes: 6_000_000_000 },
  },
};

const containerConfig: ContainerConfig = {
  metadata: { name: 'main', attempt: 3 },
  image: { image: 'sha256:abc', userSpecifiedImage: 'busybox:1' },
  command: ['sh'],
  args: ['-c', 'true'],
  workingDir: '/srv',
  envs: [
    { key: 'A', value: 'b€' },
    { key: 'EMPTY', value: '' },
  ],
  mounts: [{ containerPath: '/d', hostPath: '/h', readonly: true, propagation: 'BIDIRECTIONAL', recursiveReadOnly: true }],
  devices: [{ containerPath: '/dev/a', hostPath: '/dev/b', permissions: 'rwm' }],
  labels: { l: '1' },
  annotations: { a: '2' },
  logPath: 'main/3.log',
  stdin: true,
  tty: true,
  stopSignal: 'SIGRTMIN+3',
  cdiDevices: [{ name: 'vendor/class=one' }],
  linux: {
    resources: { cpuQuota: -1, oomScoreAdj: -997, unified: { 'memory.oom.group': '1' }, hugepageLimits: [{ pageSize: '2MB', limit: 0 }] },
    securityContext: {
      runAsUser: 65534,
      runAsUsername: 'nobody',
      capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] },
      noNewPrivs: true,
      maskedPaths: ['/proc/kcore'],
      apparmor: { profileType: 'Unconfined' },
      namespaceOptions: { network: 'POD', pid: 'TARGET', ipc: 'POD', targetId: 'other' },
    },
  },
};

/** The value under `path` of what the server decoded; a 64-bit pair as a number. */
function at(wire: Wire | undefined, path: string): unknown {
  let value: unknown = wire;
  for (const key of path.split('.')) value = (value as Wire | null | undefined)?.[key];
  if (typeof value === 'object' && value !== null && 'low' in value && 'high' in value) {
    return (value.high as number) * 2 ** 32 + ((value.low as number) >>> 0);
  }
  return value;
}

test('RunPodSandbox carries every field, and a uid of 0 is not absent', async () => {
  let seen: Wire | undefined;
  let leftMs: number | undefined;
  const run: Handler = (request, side) => {
    seen = request;
    leftMs = side.leftMs;
    return { podSandboxId: 'sb-1' };
  };
  await connected({ RunPodSandbox: run }, async ({ runtime }) => {
    assert.equal(await runtime.runPodSandbox(sandboxConfig, 'runsc'), 'sb-1');
  });
  assert.equal(at(seen, 'runtimeHandler'), 'runsc');
  assert.equal(at(seen, 'config.metadata.attempt'), 2);
  assert.equal(at(seen, 'config.portMappings.0.protocol'), 2);
  assert.equal(at(seen, 'config.annotations.note'), 'ä €');
  assert.equal(at(seen, 'config.dnsConfig.options.0'), 'ndots:5');
  const security = 'config.linux.securityContext';
  assert.equal(at(seen, `${security}.runAsUser.value`), 0);
  assert.equal(at(seen, `${security}.runAsGroup.value`), 1000);
  assert.equal(at(seen, `${security}.selinuxOptions`), null);
  assert.equal(at(seen, `${security}.namespaceOptions.network`), 2);
  assert.equal(at(seen, `${security}.supplementalGroups.1`), 4294967294);
  assert.equal(at(seen, `${security}.supplementalGroupsPolicy`), 1);
  assert.equal(at(seen, `${security}.seccomp.profileType`), 2);
  assert.equal(at(seen, 'config.linux.resources.memoryLimitInBytes'), 6_000_000_000);
  // Twice the usual 4 s.
  assert.ok(leftMs !== undefined && leftMs > 7_000 && leftMs <= 8_000, String(leftMs));
});

test('CreateContainer carries every field', async () => {
  let seen: Wire | undefined;
  const create: Handler = (request) => {
    seen = request;
    return { containerId: 'c-1' };
  };
  await connected({ CreateContainer: create }, async ({ runtime }) => {
    assert.equal(await runtime.createContainer('sb-1', containerConfig, sandboxConfig), 'c-1');
    const unknownSignal = runtime.createContainer('sb-1', { ...containerConfig, stopSignal: 'SIGNOPE' }, sandboxConfig);
    await assert.rejects(unknownSignal, (err) => isCriError(err, 'InvalidArgument') && /SIGNOPE/.test(err.message));
  });
  assert.equal(at(seen, 'podSandboxId'), 'sb-1');
  assert.equal(at(seen, 'sandboxConfig.linux.securityContext.runAsUser.value'), 0);
  assert.equal(String(at(seen, 'config.envs.0.value')), 'b€');
  assert.equal(String(at(seen, 'config.envs.1.value')), '');
  assert.equal(at(seen, 'config.image.userSpecifiedImage'), 'busybox:1');
  assert.equal(at(seen, 'config.mounts.0.propagation'), 2);
  assert.equal(at(seen, 'config.mounts.0.recursiveReadOnly'), true);
  assert.equal(at(seen, 'config.devices.0.permissions'), 'rwm');
  assert.equal(at(seen, 'config.stopSignal'), 38);
  assert.equal(at(seen, 'config.CDIDevices.0.name'), 'vendor/class=one');
  assert.equal(at(seen, 'config.linux.resources.cpuQuota'), -1);
  assert.equal(at(seen, 'config.linux.resources.oomScoreAdj'), -997);
  assert.equal(at(seen, 'config.linux.resources.unified.memory.oom.group'), undefined);
  assert.deepEqual(at(seen, 'config.linux.resources.unified'), { 'memory.oom.group': '1' });
  assert.equal(at(seen, 'config.linux.securityContext.runAsUser.value'), 65534);
  assert.equal(at(seen, 'config.linux.securityContext.runAsGroup'), null);
  assert.equal(at(seen, 'config.linux.securityContext.capabilities.dropCapabilities.0'), 'ALL');
  assert.equal(at(seen, 'config.linux.securityContext.apparmor.profileType'), 1);
  assert.equal(at(seen, 'config.linux.securityContext.namespaceOptions.targetId'), 'other');
});

test('an empty id in an answer is an error', async () => {
  await connected({ RunPodSandbox: () => ({}), CreateContainer: () => ({}) }, async ({ runtime }) => {
    await assert.rejects(runtime.runPodSandbox(sandboxConfig, ''), /without a sandbox id for pod default\/web/);
    await assert.rejects(runtime.createContainer('s', containerConfig, sandboxConfig), /without a container id for default\/web\/main/);
  });
});

test('lists: filters go out, states and times come back exactly', async () => {
  let filter: unknown;
  const list: Handler = (request) => {
    filter = request['filter'];
    return {
      containers: [
        {
          id: 'a',
          metadata: { name: 'm', attempt: 1 },
          state: 1,
          createdAt: '1764500000123456789',
          image: { image: 'i' },
          labels: { x: 'y' },
        },
        { id: 'b', state: 3 },
        { id: 'c', state: 17, createdAt: -1 },
      ],
    };
  };
  await connected({ ListContainers: list }, async ({ runtime }) => {
    const [a, b, c] = await runtime.listContainers({ state: 'exited', podSandboxId: 'p', labelSelector: { k: 'v' } });
    assert.equal(a?.createdAt, 1764500000123456789n);
    assert.equal(a?.state, 'running');
    assert.deepEqual(a?.image, { image: 'i' });
    assert.deepEqual({ ...a?.labels }, { x: 'y' });
    assert.equal(b?.state, 'unknown');
    assert.deepEqual(b?.metadata, { name: '', attempt: 0 });
    // A state that the protocol does not know is unknown, not created.
    assert.equal(c?.state, 'unknown');
    assert.equal(c?.createdAt, -1n);
  });
  assert.deepEqual(at({ filter }, 'filter.state.state'), 2);
  assert.deepEqual(at({ filter }, 'filter.podSandboxId'), 'p');
});

test('sandbox status: absent network and namespaces stay undefined', async () => {
  const answers: Wire[] = [
    { status: { id: 's', metadata: { name: 'n', uid: 'u' }, state: 0 } },
    {
      status: {
        id: 's',
        metadata: { name: 'n' },
        state: 9,
        network: { additionalIps: [{ ip: 'fd00::1' }] },
        linux: { namespaces: { options: { network: 2, usernsOptions: { mode: 0, uids: [{ hostId: 65536, length: 65536 }] } } } },
      },
    },
    { status: { id: 's', metadata: {}, linux: { namespaces: {} } } },
    {},
    { status: { metadata: {} } },
  ];
  await connected({ PodSandboxStatus: () => answers.shift() }, async ({ runtime }) => {
    const bare = await runtime.podSandboxStatus('s');
    assert.equal(bare.state, 'ready');
    assert.ok(!('network' in bare) && !('namespaceOptions' in bare));
    const full = await runtime.podSandboxStatus('s');
    assert.equal(full.state, 'notready');
    assert.deepEqual(full.network, { ip: '', additionalIps: ['fd00::1'] });
    assert.equal(full.namespaceOptions?.network, 'NODE');
    assert.equal(full.namespaceOptions?.usernsOptions?.uids[0]?.hostId, 65536);
    assert.ok(!('namespaceOptions' in (await runtime.podSandboxStatus('s'))));
    await assert.rejects(runtime.podSandboxStatus('s'), /without a status/);
    await assert.rejects(runtime.podSandboxStatus('s'), /without the id/);
  });
});

test('container status: absent resources, user and signal stay undefined; present ones are read', async () => {
  const bare = { id: 'c', metadata: { name: 'm' }, state: 2, exitCode: -1, resources: {}, user: {} };
  const full = {
    ...bare,
    startedAt: '1',
    finishedAt: '9223372036854775807',
    reason: 'OOMKilled',
    resources: { linux: { cpuShares: 2, memoryLimitInBytes: '5000000000', unified: { 'memory.max': '1' } } },
    user: { linux: { uid: 0, gid: 4294967295, supplementalGroups: [10] } },
    mounts: [{ containerPath: '/a', hostPath: '/b', propagation: 1 }],
    stopSignal: 64,
  };
  const answers: Wire[] = [{ status: bare }, { status: full }];
  await connected({ ContainerStatus: () => answers.shift() }, async ({ runtime }) => {
    const first = await runtime.containerStatus('c');
    assert.equal(first.exitCode, -1);
    for (const key of ['resources', 'user', 'stopSignal']) assert.ok(!(key in first), key);
    const second = await runtime.containerStatus('c');
    assert.equal(second.finishedAt, 9223372036854775807n);
    assert.deepEqual(second.resources, { cpuShares: 2, memoryLimitInBytes: 5_000_000_000, unified: { 'memory.max': '1' } });
    assert.deepEqual(second.user, { uid: 0, gid: 4294967295, supplementalGroups: [10] });
    assert.deepEqual(second.mounts, [{ containerPath: '/a', hostPath: '/b', propagation: 'HOST_TO_CONTAINER' }]);
    assert.equal(second.stopSignal, 'SIGRTMAX-1');
  });
});

test('a map key __proto__ from the runtime pollutes nothing', async () => {
  const raw = JSON.parse('{"containers":[{"id":"a","labels":{"__proto__":"evil","k":"v"}}]}') as Wire;
  await connected({ ListContainers: () => raw }, async ({ runtime }) => {
    const [container] = await runtime.listContainers();
    assert.equal(container?.labels['k'], 'v');
    assert.equal(({} as Wire)['evil'], undefined);
    assert.equal(typeof Object.prototype.toString, 'function');
  });
});

test('runtime status and config: what is absent is told apart', async () => {
  const statuses: Wire[] = [
    {},
    {
      status: { conditions: [{ type: 'RuntimeReady', status: true }] },
      features: { supplementalGroupsPolicy: true },
      runtimeHandlers: [{ name: '', features: { userNamespaces: true } }, { name: 'x' }],
    },
  ];
  const configs: Wire[] = [{}, { linux: {} }, { linux: { cgroupDriver: 1 } }, { linux: { cgroupDriver: 5 } }];
  await connected({ Status: () => statuses.shift(), RuntimeConfig: () => configs.shift() }, async ({ runtime }) => {
    assert.deepEqual(await runtime.status(), { conditions: [], runtimeHandlers: [] });
    const status = await runtime.status();
    assert.equal(status.conditions[0]?.status, true);
    assert.equal(status.features?.supplementalGroupsPolicy, true);
    assert.equal(status.runtimeHandlers[0]?.features?.userNamespaces, true);
    assert.ok(!('features' in (status.runtimeHandlers[1] ?? {})));
    assert.equal(await runtime.runtimeConfig(), undefined);
    assert.equal(await runtime.runtimeConfig(), 'systemd');
    assert.equal(await runtime.runtimeConfig(), 'cgroupfs');
    await assert.rejects(runtime.runtimeConfig(), /cgroup driver 5/);
  });
});

test('deadlines follow the contract', async () => {
  const left = new Map<string, number | undefined>();
  const note =
    (name: string, answer: Wire): Handler =>
    (_request, side) => {
      left.set(name, side.leftMs);
      return answer;
    };
  const handlers = Object.fromEntries(
    Object.entries({ StopContainer: {}, ExecSync: {}, PullImage: { imageRef: 'r' }, CheckpointContainer: {}, ListContainers: {} }).map(
      ([name, answer]) => [name, note(name, answer)],
    ),
  );
  const near = (name: string, ms: number) => {
    const value = left.get(name);
    assert.ok(value !== undefined && value > ms - 1_500 && value <= ms, `${name}: ${value} of ${ms}`);
  };
  await connected(handlers, async ({ runtime, images, streaming }) => {
    await runtime.listContainers();
    near('ListContainers', 4_000);
    await runtime.listContainers(undefined, { timeoutMs: 60_000 });
    near('ListContainers', 60_000);
    await runtime.stopContainer('c', 30);
    near('StopContainer', 34_000);
    await runtime.execSync('c', ['true'], 5);
    near('ExecSync', 9_000);
    await runtime.execSync('c', ['true'], 0);
    assert.equal(left.get('ExecSync'), undefined);
    await images.pullImage({ image: 'i' }, undefined, undefined);
    assert.equal(left.get('PullImage'), undefined);
    await streaming.checkpointContainer('c', '/x', 1);
    near('CheckpointContainer', 4_000);
    await streaming.checkpointContainer('c', '/x', 100);
    near('CheckpointContainer', 100_000);
    await assert.rejects(streaming.checkpointContainer('c', '/x', -1), (err) => isCriError(err, 'InvalidArgument'));
  });
});

test('ExecSync gives bytes, not text', async () => {
  const answer = { stdout: Buffer.from([0xff, 0, 10]), stderr: Buffer.from('e'), exitCode: 137 };
  await connected({ ExecSync: () => answer }, async ({ runtime }) => {
    const result = await runtime.execSync('c', ['x'], 1);
    assert.ok(Buffer.isBuffer(result.stdout));
    assert.deepEqual([...result.stdout], [0xff, 0, 10]);
    assert.equal(result.exitCode, 137);
  });
});

test('a resize of the sandbox that the runtime does not know is no error', async () => {
  const { GrpcFailure } = await import('../../test/support/criServer.ts');
  await connected({}, async ({ runtime }, server) => {
    assert.equal(await runtime.updatePodSandboxResources('s', undefined, { cpuShares: 2 }), false);
    server.handlers.set('UpdatePodSandboxResources', () => {
      throw new GrpcFailure(2, 'method not implemented here');
    });
    assert.equal(await runtime.updatePodSandboxResources('s', undefined, undefined), false);
    server.handlers.set('UpdatePodSandboxResources', () => {
      throw new GrpcFailure(2, 'disk full');
    });
    await assert.rejects(runtime.updatePodSandboxResources('s', undefined, undefined), /disk full/);
    server.handlers.set('UpdatePodSandboxResources', () => ({}));
    assert.equal(await runtime.updatePodSandboxResources('s', undefined, undefined), true);
  });
});

test('streaming lists are used when switched on, and given up for good at the first Unimplemented', async () => {
  let streamed = 0;
  const stream: Handler = (_request, side) => {
    streamed += 1;
    side.send({ containers: [{ id: 'a' }, { id: 'b' }] });
    side.send({ containers: [{ id: 'c' }] });
    return undefined;
  };
  const plain: Handler = () => ({ containers: [{ id: 'p' }] });
  await connected(
    { StreamContainers: stream, ListContainers: plain, ListPodSandbox: () => ({ items: [{ id: 's' }] }) },
    async ({ runtime }) => {
      assert.deepEqual(
        (await runtime.listContainers()).map((c) => c.id),
        ['a', 'b', 'c'],
      );
      assert.equal((await runtime.listPodSandbox())[0]?.id, 's');
      assert.deepEqual(
        (await runtime.listContainers()).map((c) => c.id),
        ['p'],
      );
    },
    true,
  );
  assert.equal(streamed, 1);
});

test('calls are counted by their metric name, failures too', async () => {
  await connected({ RunPodSandbox: () => ({ podSandboxId: 's' }) }, async ({ runtime, stats }, _server, observed) => {
    await runtime.runPodSandbox(sandboxConfig, '');
    await assert.rejects(stats.podSandboxStats('s'), (err) => isCriError(err, 'Unimplemented') && err.operation === 'PodSandboxStats');
    assert.deepEqual(observed, [
      ['run_podsandbox', false],
      ['podsandbox_stats', true],
    ]);
  });
});
