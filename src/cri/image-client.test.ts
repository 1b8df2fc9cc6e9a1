import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriServer, type Handler, type Wire } from '../../test/support/criServer.ts';
import { systemClock } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { type ConnectedRuntime, connectRuntime } from './connect.ts';
import { noRuntimeMetrics } from './instrumentation.ts';

async function connected(handlers: Record<string, Handler>, run: (runtime: ConnectedRuntime) => Promise<void>): Promise<void> {
  await using server = await CriServer.start(handlers);
  const { endpoint } = server;
  const runtime = await connectRuntime({ endpoint, timeoutMs: 4_000, clock: systemClock, log: silentLogger, metrics: noRuntimeMetrics });
  try {
    await run(runtime);
  } finally {
    runtime.close();
  }
}

test('image status: absent, present, and present without an id or a size', async () => {
  const answers: Wire[] = [
    {},
    { image: { id: 'sha256:a', size: '5000000000', uid: { value: 0 }, repoTags: ['a:1'], pinned: true } },
    { image: { id: 'sha256:a', size: 1, username: 'nobody' } },
    { image: { id: '', size: 1 } },
    { image: { id: 'x' } },
  ];
  await connected({ ImageStatus: () => answers.shift() }, async ({ images }) => {
    assert.equal(await images.imageStatus({ image: 'a:1' }), undefined);
    const root = await images.imageStatus({ image: 'a:1' });
    assert.equal(root?.size, 5_000_000_000);
    assert.equal(root?.uid, 0);
    assert.equal(root?.pinned, true);
    const named = await images.imageStatus({ image: 'a:1' });
    assert.equal(named?.username, 'nobody');
    assert.ok(named && !('uid' in named));
    await assert.rejects(images.imageStatus({ image: 'a:1' }), /without an id or a size for image "a:1"/);
    await assert.rejects(images.imageStatus({ image: 'a:1' }), /without an id or a size/);
  });
});

test('a pull carries image, credentials and sandbox, and needs a reference', async () => {
  const seen: Wire[] = [];
  const answers: Wire[] = [{ imageRef: 'sha256:r' }, {}];
  const pull: Handler = (request) => {
    seen.push(request);
    return answers.shift();
  };
  await connected({ PullImage: pull }, async ({ images }) => {
    const auth = { username: 'u', password: 'p', auth: '', serverAddress: 's', identityToken: 'i', registryToken: 'r' };
    const sandbox = {
      metadata: { name: 'n', uid: 'u', namespace: 'ns', attempt: 0 },
      portMappings: [],
      labels: {},
      annotations: {},
      linux: { securityContext: { runAsUser: 0 } },
    };
    assert.equal(await images.pullImage({ image: 'a:1', annotations: { k: 'v' } }, auth, sandbox), 'sha256:r');
    await assert.rejects(images.pullImage({ image: 'a:1' }, undefined, undefined), /without a reference for image "a:1"/);
  });
  const [full, bare] = seen;
  assert.deepEqual(
    { ...(full?.['auth'] as object) },
    { username: 'u', password: 'p', auth: '', serverAddress: 's', identityToken: 'i', registryToken: 'r' },
  );
  assert.deepEqual((full?.['image'] as Wire | undefined)?.['annotations'], { k: 'v' });
  assert.equal((full?.['sandboxConfig'] as { metadata: { namespace: string } } | undefined)?.metadata.namespace, 'ns');
  assert.equal(bare?.['auth'], null);
  assert.equal(bare?.['sandboxConfig'], null);
});

test('image filesystems: the first list must not be empty, zero bytes are zero', async () => {
  const answers: Wire[] = [
    {},
    {
      imageFilesystems: [{ timestamp: '7', fsId: { mountpoint: '/i' }, usedBytes: { value: 9 } }, {}],
      containerFilesystems: [{ fsId: { mountpoint: '/c' }, inodesUsed: { value: 3 } }],
    },
  ];
  await connected({ ImageFsInfo: () => answers[0] }, async ({ images }) => {
    await assert.rejects(images.imageFsInfo(), /no image filesystem/);
    answers.shift();
    assert.deepEqual((await images.imageFsInfo())[0], { timestamp: 7n, mountpoint: '/i', usedBytes: 9, inodesUsed: 0 });
    assert.equal((await images.imageFilesystems()).containerFilesystems[0]?.inodesUsed, 3);
  });
});

test('statistics: what was not measured is undefined, what is zero is zero', async () => {
  const container = {
    attributes: { id: 'c', metadata: { name: 'm' }, labels: { a: 'b' } },
    cpu: { timestamp: '5', usageCoreNanoSeconds: { value: '18446744073709551615' }, psi: { Full: { Total: '9', Avg10: 1.5 } } },
    memory: { workingSetBytes: { value: 0 } },
    writableLayer: { usedBytes: { value: 4 } },
    swap: { swapUsageBytes: { value: 2 } },
  };
  const sandbox = {
    attributes: { id: 's', metadata: { name: 'p', uid: 'u' } },
    linux: {
      network: { defaultInterface: { name: 'eth0', rxBytes: { value: '6000000000' } }, interfaces: [{ name: 'eth1' }] },
      process: { processCount: { value: 3 } },
      containers: [container],
    },
  };
  const handlers = {
    ContainerStats: () => ({ stats: container }),
    ListContainerStats: () => ({ stats: [container, {}] }),
    PodSandboxStats: () => ({ stats: sandbox }),
    ListPodSandboxStats: () => ({ stats: [sandbox, {}] }),
  };
  await connected(handlers, async ({ stats }) => {
    const one = await stats.containerStats('c');
    assert.deepEqual(one.cpu, {
      timestamp: 5n,
      usageCoreNanoSeconds: 18446744073709551615n,
      psi: { full: { total: 9, avg10: 1.5, avg60: 0, avg300: 0 } },
    });
    assert.deepEqual(one.memory, { timestamp: 0n, workingSetBytes: 0 });
    assert.deepEqual(one.swap, { timestamp: 0n, swapUsageBytes: 2 });
    assert.equal(one.writableLayer?.usedBytes, 4);
    assert.ok(!('io' in one));
    assert.deepEqual(
      (await stats.listContainerStats({ podSandboxId: 's' })).map((c) => c.id),
      ['c', ''],
    );
    const pod = await stats.podSandboxStats('s');
    assert.deepEqual(pod.network, {
      timestamp: 0n,
      interfaces: [{ name: 'eth1' }],
      defaultInterface: { name: 'eth0', rxBytes: 6_000_000_000 },
    });
    assert.equal(pod.process?.processCount, 3);
    assert.equal(pod.containers[0]?.id, 'c');
    const bare = (await stats.listPodSandboxStats())[1];
    assert.deepEqual(Object.keys(bare ?? {}).sort(), ['annotations', 'containers', 'id', 'labels', 'metadata']);
  });
});

test('metrics and their descriptors', async () => {
  const handlers = {
    ListMetricDescriptors: () => ({ descriptors: [{ name: 'm', help: 'h', labelKeys: ['id'] }] }),
    ListPodSandboxMetrics: () => ({
      podMetrics: [
        {
          podSandboxId: 's',
          metrics: [{ name: 'm', timestamp: '4', metricType: 1, labelValues: ['s'], value: { value: 0 } }],
          containerMetrics: [{ containerId: 'c', metrics: [{ name: 'n' }] }],
        },
      ],
    }),
  };
  await connected(handlers, async ({ stats }) => {
    assert.deepEqual(
      (await stats.listMetricDescriptors()).map((d) => ({ ...d })),
      [{ name: 'm', help: 'h', labelKeys: ['id'] }],
    );
    assert.deepEqual(await stats.listPodSandboxMetrics(), [
      {
        podSandboxId: 's',
        metrics: [{ name: 'm', timestamp: 4n, type: 'gauge', labelValues: ['s'], value: 0 }],
        containers: [{ containerId: 'c', metrics: [{ name: 'n', timestamp: 0n, type: 'counter', labelValues: [] }] }],
      },
    ]);
  });
});

test('streaming URLs and checkpoints', async () => {
  const seen = new Map<string, Wire>();
  const note =
    (name: string, answer: Wire): Handler =>
    (request) => {
      seen.set(name, request);
      return answer;
    };
  const handlers = {
    Exec: note('Exec', { url: 'http://127.0.0.1:1/exec' }),
    Attach: note('Attach', {}),
    PortForward: note('PortForward', { url: 'http://127.0.0.1:1/pf' }),
    CheckpointPod: note('CheckpointPod', {}),
    RestorePod: note('RestorePod', { podSandboxId: 's', restoredContainers: [{ name: 'c', containerId: 'id' }] }),
  };
  const io = { containerId: 'c', tty: true, stdin: false, stdout: true, stderr: false };
  await connected(handlers, async ({ streaming }) => {
    assert.equal(await streaming.exec({ ...io, cmd: ['sh'] }), 'http://127.0.0.1:1/exec');
    await assert.rejects(streaming.attach(io), /without a URL/);
    assert.equal(await streaming.portForward('s', [80, 443]), 'http://127.0.0.1:1/pf');
    await streaming.checkpointPod('s', '/out', ['c'], { a: 'b' });
    const config = { metadata: { name: 'n', uid: 'u', namespace: 'ns', attempt: 0 }, portMappings: [], labels: {}, annotations: {} };
    const restored = await streaming.restorePod({ checkpointPath: '/in', config, runtimeHandler: '', options: {}, containerConfigs: [] });
    assert.deepEqual({ ...restored.containers[0] }, { name: 'c', containerId: 'id' });
  });
  assert.equal(seen.get('Exec')?.['tty'], true);
  assert.equal(seen.get('Attach')?.['tty'], true);
  assert.equal(seen.get('Attach')?.['stdin'], false);
  assert.deepEqual(seen.get('PortForward')?.['port'], [80, 443]);
  assert.equal(seen.get('CheckpointPod')?.['outputPath'], '/out');
});
