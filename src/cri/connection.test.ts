import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { CriServer, GrpcFailure, type Handler } from '../../test/support/criServer.ts';
import { systemClock } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { grpcCode } from '../proto/grpc-status.ts';
import { type ConnectedRuntime, connectRuntime } from './connect.ts';
import { type CriError, criErrorText, isCriError } from './errors.ts';
import { noRuntimeMetrics } from './instrumentation.ts';

const connect = (server: CriServer, timeoutMs = 5_000): Promise<ConnectedRuntime> =>
  connectRuntime({ endpoint: server.endpoint, timeoutMs, clock: systemClock, log: silentLogger, metrics: noRuntimeMetrics });

/** Answers only when the client gives up. */
const hang: Handler = (_request, side) => new Promise((resolve) => side.cancelled.addEventListener('abort', () => resolve({})));

async function failureOf(work: Promise<unknown>): Promise<CriError> {
  try {
    await work;
  } catch (err) {
    if (isCriError(err)) return err;
    throw err;
  }
  throw new Error('the call succeeded');
}

/** Resolves when the server has learnt that its caller is gone; the test's own time limit is the failure. */
async function aborted(signal: AbortSignal | undefined): Promise<void> {
  assert.ok(signal);
  if (!signal.aborted) await once(signal, 'abort');
}

test('each gRPC code keeps its name and the runtime its text', async () => {
  await using server = await CriServer.start();
  const connected = await connect(server);
  for (let code = 1; code <= 16; code++) {
    server.handlers.set('StopPodSandbox', () => {
      throw new GrpcFailure(code, `text ${code}`);
    });
    const err = await failureOf(connected.runtime.stopPodSandbox('s'));
    assert.equal(err.code, grpcCode(code));
    assert.equal(err.operation, 'StopPodSandbox');
    assert.equal(criErrorText(err), `rpc error: code = ${err.code} desc = text ${code}`);
  }
  assert.equal(grpcCode(5), 'NotFound');
  assert.equal(grpcCode(99), 'Unknown');
  connected.close();
});

test('a runtime that hangs ends in DeadlineExceeded, and is told that the client gave up', async () => {
  let cancelled: AbortSignal | undefined;
  await using server = await CriServer.start({
    ListContainers: (request, side) => {
      cancelled = side.cancelled;
      return hang(request, side);
    },
  });
  const connected = await connect(server);
  const err = await failureOf(connected.runtime.listContainers(undefined, { timeoutMs: 1_000 }));
  assert.equal(err.code, 'DeadlineExceeded');
  assert.equal(err.message, 'context deadline exceeded');
  await aborted(cancelled);
  connected.close();
});

test('an abort cancels the call under way; an aborted signal sends nothing', async () => {
  let calls = 0;
  const abort = new AbortController();
  await using server = await CriServer.start({
    ListContainers: (request, side) => {
      calls += 1;
      abort.abort(new Error('pod is gone'));
      return hang(request, side);
    },
  });
  const connected = await connect(server);
  const err = await failureOf(connected.runtime.listContainers(undefined, { signal: abort.signal }));
  assert.equal(err.code, 'Canceled');
  assert.equal((err.cause as Error).message, 'pod is gone');
  const again = await failureOf(connected.runtime.listContainers(undefined, { signal: abort.signal }));
  assert.equal(again.code, 'Canceled');
  assert.equal(calls, 1);
  connected.close();
});

test('calls under way are listed with their object until they end', async () => {
  await using server = await CriServer.start({ StopContainer: hang });
  const connected = await connect(server);
  const abort = new AbortController();
  const before = systemClock.monotonic();
  const stopping = failureOf(connected.runtime.stopContainer('c-9', 1, { signal: abort.signal }));
  const [pending, ...others] = connected.pendingCalls();
  assert.equal(others.length, 0);
  assert.equal(pending?.operation, 'StopContainer');
  assert.equal(pending?.object, 'c-9');
  assert.ok((pending?.sinceMonotonicMs ?? 0) >= before);
  abort.abort();
  await stopping;
  assert.deepEqual(connected.pendingCalls(), []);
  connected.close();
});

test('messages over 4 MiB pass, over 16 MiB are ResourceExhausted, and the connection survives', async () => {
  const list = (mebibytes: number): Handler => {
    const text = 'x'.repeat(1024 * 1024);
    return () => ({ containers: Array.from({ length: mebibytes }, (_, i) => ({ id: String(i), annotations: { big: text } })) });
  };
  await using server = await CriServer.start({ ListContainers: list(9) });
  const connected = await connect(server, 30_000);
  assert.equal((await connected.runtime.listContainers()).length, 9);
  server.handlers.set('ListContainers', list(17));
  assert.equal((await failureOf(connected.runtime.listContainers())).code, 'ResourceExhausted');
  // The other way round.
  let received = 0;
  server.handlers.set('ExecSync', (request) => {
    received = (request['cmd'] as string[]).join('').length;
    return {};
  });
  await connected.runtime.execSync('c', ['y'.repeat(9 * 1024 * 1024)], 5);
  assert.equal(received, 9 * 1024 * 1024);
  const tooBig = await failureOf(connected.runtime.execSync('c', ['y'.repeat(17 * 1024 * 1024)], 5));
  assert.equal(tooBig.code, 'ResourceExhausted');
  server.handlers.set('ListContainers', list(1));
  assert.equal((await connected.runtime.listContainers()).length, 1);
  connected.close();
});

test('an answer that is no message of ours is Internal, and the connection survives', async () => {
  const garbage = [Buffer.from('ffffffffffffffffffff', 'hex'), Buffer.from([0x0a, 0x7f, 0x01]), Buffer.alloc(300, 0x0b)];
  await using server = await CriServer.start();
  const connected = await connect(server);
  for (const bytes of garbage) {
    server.handlers.set('ListContainers', () => bytes);
    assert.equal((await failureOf(connected.runtime.listContainers())).code, 'Internal');
  }
  // Fields that we do not know are skipped: number 100, a varint, before an empty list.
  server.handlers.set('ListContainers', () => Buffer.from([0xa0, 0x06, 0x01]));
  assert.deepEqual(await connected.runtime.listContainers(), []);
  connected.close();
});

test('a socket file with nobody behind it is Unavailable at once', async () => {
  await using server = await CriServer.start();
  const connected = await connect(server);
  await server.abandon();
  const err = await failureOf(connected.runtime.version());
  assert.equal(err.code, 'Unavailable');
  connected.close();
});

test('a killed runtime fails the call under way and those after it; the same client works after its return', async () => {
  let arrived: () => void = () => {};
  const called = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  await using server = await CriServer.start({
    ListContainers: (request, side) => {
      arrived();
      return hang(request, side);
    },
  });
  const connected = await connect(server);
  const underWay = failureOf(connected.runtime.listContainers());
  await called;
  server.kill();
  // The library names a stream that the dying server reset Cancelled, Internal or Unavailable, by timing.
  assert.ok(['Unavailable', 'Internal', 'Canceled'].includes((await underWay).code));
  const whileDown = await failureOf(connected.runtime.version());
  assert.equal(whileDown.code, 'Unavailable');

  await server.listen();
  let version: string | undefined;
  for (let i = 0; i < 100 && version === undefined; i++) {
    version = await connected.runtime.version().then(
      (v) => v.runtimeName,
      async () => {
        await systemClock.sleep(20);
        return undefined;
      },
    );
  }
  assert.equal(version, 'fake');
  connected.close();
});

test('a goodbye lets calls under way finish', async () => {
  let finish: () => void = () => {};
  let arrived: () => void = () => {};
  const called = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  await using server = await CriServer.start({
    StartContainer: () =>
      new Promise((resolve) => {
        finish = () => resolve({});
        arrived();
      }),
  });
  const connected = await connect(server);
  const underWay = connected.runtime.startContainer('c');
  await called;
  const drained = server.drain();
  finish();
  await underWay;
  await drained;
  assert.equal((await failureOf(connected.runtime.version())).code, 'Unavailable');
  connected.close();
});

test('closing ends calls under way, and later ones fail instead of hanging', async () => {
  await using server = await CriServer.start({ ListContainers: hang });
  const connected = await connect(server);
  const underWay = failureOf(connected.runtime.listContainers(undefined, { timeoutMs: 2_000 }));
  connected.close();
  assert.ok(['Canceled', 'Unavailable', 'DeadlineExceeded'].includes((await underWay).code));
  assert.ok(isCriError(await failureOf(connected.runtime.version())));
});

test('events: in order, unknown types skipped, the end of the stream is an end', async () => {
  await using server = await CriServer.start({
    GetContainerEvents: (_request, side) => {
      side.send({ containerId: 'a', containerEventType: 1, createdAt: 5, podSandboxStatus: { metadata: { uid: 'u' } } });
      side.send({ containerId: 'b', containerEventType: 44 });
      side.send({ containerId: 'c', containerEventType: 2 });
      return undefined;
    },
  });
  const connected = await connect(server);
  const seen: unknown[] = [];
  for await (const event of connected.runtime.containerEvents(new AbortController().signal)) seen.push(event);
  assert.deepEqual(seen, [
    { containerId: 'a', type: 'STARTED', createdAt: 5n, podUid: 'u' },
    { containerId: 'c', type: 'STOPPED', createdAt: 0n, podUid: '' },
  ]);
  connected.close();
});

test('events: Unimplemented, an abort, and a loop left early', async () => {
  await using server = await CriServer.start();
  const connected = await connect(server);
  const drain = async (signal: AbortSignal) => {
    for await (const _ of connected.runtime.containerEvents(signal)) return;
  };
  assert.equal((await failureOf(drain(new AbortController().signal))).code, 'Unimplemented');

  let cancelled: AbortSignal | undefined;
  server.handlers.set('GetContainerEvents', (request, side) => {
    cancelled = side.cancelled;
    side.send({ containerId: 'a' });
    return hang(request, side);
  });
  await drain(new AbortController().signal);
  await aborted(cancelled);

  server.handlers.set('GetContainerEvents', hang);
  const abort = new AbortController();
  const waiting = failureOf(drain(abort.signal));
  abort.abort();
  assert.equal((await waiting).code, 'Canceled');
  assert.deepEqual(connected.pendingCalls(), []);
  connected.close();
});
