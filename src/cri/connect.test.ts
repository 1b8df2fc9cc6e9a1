import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CriServer, versionAnswer } from '../../test/support/criServer.ts';
import { systemClock } from '../host/clock.ts';
import { type Logger, silentLogger } from '../observe/log.ts';
import { type ConnectOptions, connectRuntime } from './connect.ts';
import { endpointTarget } from './endpoint.ts';
import { noRuntimeMetrics } from './instrumentation.ts';

const options = (endpoint: string, more: Partial<ConnectOptions> = {}): ConnectOptions => ({
  endpoint,
  timeoutMs: 5_000,
  clock: systemClock,
  log: silentLogger,
  metrics: noRuntimeMetrics,
  ...more,
});

test('the handshake gives the version and uses one connection for both services', async () => {
  await using server = await CriServer.start({ ListImages: () => ({ images: [] }) });
  const connected = await connectRuntime(options(server.endpoint));
  assert.deepEqual({ ...connected.version }, versionAnswer);
  assert.deepEqual(await connected.images.listImages(), []);
  connected.close();
});

test('the Version request carries CRI version 0.1.0', async () => {
  let asked: unknown;
  await using server = await CriServer.start({
    Version: (request) => {
      asked = request['version'];
      return versionAnswer;
    },
  });
  (await connectRuntime(options(server.endpoint))).close();
  assert.equal(asked, '0.1.0');
});

test('an answer with an empty field or another version is refused by name', async () => {
  await using server = await CriServer.start();
  for (const field of ['version', 'runtimeName', 'runtimeVersion', 'runtimeApiVersion']) {
    server.handlers.set('Version', () => ({ ...versionAnswer, [field]: '' }));
    await assert.rejects(connectRuntime(options(server.endpoint)), (err: Error) => err.message.includes(`no ${field}`));
  }
  server.handlers.set('Version', () => ({ ...versionAnswer, version: '0.2.0' }));
  await assert.rejects(connectRuntime(options(server.endpoint)), /0\.2\.0/);
});

test('nothing behind the socket fails at once and names the endpoint', async () => {
  const started = systemClock.monotonic();
  await assert.rejects(connectRuntime(options('unix:///nonexistent/cri.sock')), /unix:\/\/\/nonexistent\/cri\.sock.*ENOENT/);
  assert.ok(systemClock.monotonic() - started < 2_000);
});

test('a listener that never speaks ends in the time-out', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kts-mute-'));
  const path = join(dir, 's');
  const sockets = new Set<Socket>();
  const mute = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => mute.listen(path, resolve));
  await assert.rejects(connectRuntime(options(`unix://${path}`, { timeoutMs: 200 })), /context deadline exceeded/);
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => mute.close(() => resolve()));
  rmSync(dir, { recursive: true, force: true });
});

test('a server that only knows other services is no CRI v1', async () => {
  await using server = await CriServer.start();
  server.handlers.delete('Version');
  await assert.rejects(connectRuntime(options(server.endpoint)), /unknown method Version/);
});

test('an image endpoint of its own is checked and used', async () => {
  await using runtime = await CriServer.start();
  await using images = await CriServer.start({
    ImageFsInfo: () => ({ imageFilesystems: [{ usedBytes: { value: 7 } }] }),
    ListImages: () => ({ images: [{ id: 'sha256:1', size: 3 }] }),
  });
  const connected = await connectRuntime(options(runtime.endpoint, { imageEndpoint: images.endpoint }));
  assert.equal((await connected.images.listImages())[0]?.id, 'sha256:1');
  connected.close();
  images.handlers.delete('ImageFsInfo');
  await assert.rejects(connectRuntime(options(runtime.endpoint, { imageEndpoint: images.endpoint })), /unknown method ImageFsInfo/);
});

test('a bare path works, with a warning that gives the full form', async () => {
  await using server = await CriServer.start();
  const warnings: unknown[] = [];
  const log: Logger = { ...silentLogger, warn: (_msg, values) => void warnings.push(values) };
  (await connectRuntime(options(server.path, { log }))).close();
  assert.deepEqual(warnings, [{ endpoint: server.path, fullForm: server.endpoint }]);
});

test('endpoints: what is accepted', () => {
  assert.deepEqual(endpointTarget('unix:///run/c.sock'), { target: 'unix:/run/c.sock', deprecated: false });
  assert.deepEqual(endpointTarget('unix:/run/c.sock'), { target: 'unix:/run/c.sock', deprecated: false });
  assert.deepEqual(endpointTarget('/run/c.sock'), { target: 'unix:/run/c.sock', deprecated: true });
  assert.deepEqual(endpointTarget('tcp://127.0.0.1:1234'), { target: 'dns:127.0.0.1:1234', deprecated: false });
  assert.deepEqual(endpointTarget('tcp://[::1]:1234'), { target: 'dns:[::1]:1234', deprecated: false });
});

test('endpoints: what is refused', () => {
  const bad = ['', 'run/c.sock', 'unix://run/c.sock', 'unix:', 'tcp://host', 'tcp://', 'npipe:////./pipe/x', 'http://x', 'unix:///a\0b'];
  for (const endpoint of bad) assert.throws(() => endpointTarget(endpoint), Error, endpoint);
  assert.throws(() => endpointTarget(`unix:///${'x'.repeat(120)}`), /longer than 107 bytes/);
});
