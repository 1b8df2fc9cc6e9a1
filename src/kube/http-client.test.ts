import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { SimApiServer } from '../../test/sim/apiserver.ts';
import { ApiListener, type ListenerTls } from '../../test/sim/apiserver-listener.ts';
import { SimClock } from '../../test/sim/clock.ts';
import { SimRandom } from '../../test/sim/random.ts';
import { systemClock } from '../host/clock.ts';
import { type Logger, silentLogger } from '../observe/log.ts';
import { isKubeError, type KubeErrorCode } from './errors.ts';
import { type AuthHeaders, KubeClient, userAgent } from './http-client.ts';
import { NodeTransport, type TlsIdentity } from './node-transport.ts';
import { TokenBucketLimiter, unlimited } from './rate-limiter.ts';

const pem = (name: string) => readFileSync(new URL(`../../test/fixtures/tls/${name}.pem`, import.meta.url));
const serverTls: ListenerTls = { cert: pem('server'), key: pem('server-key'), ca: pem('ca') };
const clientTls = (name: string): TlsIdentity => ({ ca: pem('ca'), cert: pem(name), key: pem(`${name}-key`), insecure: false });
const clientA = clientTls('client-a');
const clientB = clientTls('client-b');
const noAuth: AuthHeaders = { headers: () => Promise.resolve({}), rejected: () => false };

/** A server that answers at once, in real time. */
const instant = () => new SimApiServer({ clock: systemClock, random: new SimRandom(1), latencyMs: 0, bookmarkMs: 0 });

function clientOf(url: string, identity: () => TlsIdentity = () => clientA, more: { clock?: SimClock; log?: Logger } = {}) {
  const { clock = new SimClock(), log = silentLogger } = more;
  const transport = new NodeTransport({ server: new URL(url), identity: () => Promise.resolve(identity()), clock, log });
  const client = new KubeClient({ transport, auth: noAuth, limiter: unlimited, clock, log, userAgent: userAgent('v1.37.2', '') });
  return { client, transport, clock };
}

const fails = (code: KubeErrorCode) => (err: unknown) => isKubeError(err, code) || assert.fail(`not ${code}: ${String(err)}`);

for (const [title, tls, version] of [
  ['HTTP/2 over TLS', serverTls, '2.0'],
  ['HTTP/1.1 over TLS', { ...serverTls, http1Only: true }, '1.1'],
  ['plain HTTP/1.1', undefined, '1.1'],
] as const) {
  test(`${title}: requests, errors and watches over one connection`, async () => {
    const server = instant();
    await using listener = await ApiListener.start(server, tls);
    const { client, transport } = clientOf(listener.url);
    const created = await client.request<{ metadata: { uid: string } }>({
      method: 'POST',
      path: '/api/v1/nodes',
      body: { metadata: { name: 'n1', labels: { a: 'grün' } } },
    });
    assert.ok(created.metadata.uid);
    const seen = server.requests[0];
    assert.match(seen?.headers['user-agent'] ?? '', /^kubelet\/v1\.37\.2 \(linux\/(amd64|arm64)\) kubernetes\/unknown$/);
    assert.equal(seen?.headers['content-type'], 'application/json');
    await assert.rejects(client.request({ method: 'GET', path: '/api/v1/nodes/none' }), fails('NotFound'));
    await assert.rejects(
      client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n1' } } }),
      fails('AlreadyExists'),
    );
    if (version === '2.0') assert.equal(listener.connections, 1);

    const stop = new AbortController();
    const stream = await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true }, signal: stop.signal });
    const types: string[] = [];
    await assert.rejects(async () => {
      for await (const event of stream) {
        types.push((event as { type: string }).type);
        if (types.length === 1) await client.request({ method: 'DELETE', path: '/api/v1/nodes/n1' });
        else stop.abort();
      }
    }, fails('Canceled'));
    assert.deepEqual(types, ['ADDED', 'DELETED']);
    assert.equal(listener.clients.at(-1)?.version, version);
    if (tls) assert.equal(listener.clients[0]?.name, 'system:node:a');
    transport.close();
  });

  test(`${title}: a connection that is cut ends the watch, and the next request makes a new one`, async () => {
    const server = instant();
    await using listener = await ApiListener.start(server, tls);
    const { client, transport } = clientOf(listener.url);
    await client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n1' } } });
    const stream = await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true } });
    await assert.rejects(async () => {
      for await (const _event of stream) listener.cut();
    }, fails('Unavailable'));
    assert.ok(await client.request({ method: 'GET', path: '/api/v1/nodes/n1' }));
    transport.close();
    await assert.rejects(client.request({ method: 'PATCH', path: '/api/v1/nodes/n1', body: {} }), fails('Unavailable'));
  });

  test(`${title}: replaced credentials end watches at once and go into the next connection`, async () => {
    const server = instant();
    await using listener = await ApiListener.start(server, tls);
    let identity = clientA;
    const { client, transport } = clientOf(listener.url, () => identity);
    await client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n1' } } });
    const stream = await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true } });
    await assert.rejects(async () => {
      for await (const _event of stream) {
        identity = clientB;
        await client.request({ method: 'GET', path: '/api/v1/nodes/n1' });
      }
    }, fails('Unavailable'));
    if (tls) assert.equal(listener.clients.at(-1)?.name, 'system:node:b');
    assert.equal(server.watches().length, 0);
    transport.close();
  });
}

test('an HTTP/2 server that falls silent is found by ping within 45 s', async (t) => {
  const server = instant();
  await using listener = await ApiListener.start(server, serverTls);
  const { client, transport, clock } = clientOf(listener.url);
  await client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n1' } } });
  const stream = await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true } });
  const began = clock.monotonic();
  let ended = false;
  const watching = (async () => {
    for await (const _event of stream) for (const socket of listener.sockets) socket.pause();
  })().catch((err: unknown) => {
    ended = true;
    return err;
  });
  await new Promise((resolve) => setImmediate(resolve));
  // A socket that is not read answers no ping; nothing else tells the client.
  assert.ok(await clock.runUntil(() => ended, 46_000), 'still waiting');
  t.diagnostic(`injected: a server that reads nothing; found after ${(clock.monotonic() - began) / 1000} s`);
  fails('Unavailable')(await watching);
  transport.close();
});

test('a server that says goodbye: what is under way goes on, what is new takes another connection', async () => {
  const server = instant();
  await using listener = await ApiListener.start(server, serverTls);
  const { client, transport } = clientOf(listener.url);
  const create = (name: string) => client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name } } });
  await create('n1');
  const stream = await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true } });
  const types: string[] = [];
  for await (const event of stream) {
    types.push((event as { type: string }).type);
    if (types.length === 5) break;
    if (types.length > 1) continue;
    listener.goAway();
    await Promise.all(['m1', 'm2', 'm3'].map(create));
    await client.request({ method: 'DELETE', path: '/api/v1/nodes/n1' });
  }
  assert.deepEqual(types, ['ADDED', 'ADDED', 'ADDED', 'ADDED', 'DELETED'], 'the old connection still brings events');
  assert.equal(listener.connections, 2);
  transport.close();
});

test('a healthy but idle HTTP/2 connection is kept', async () => {
  const server = instant();
  await using listener = await ApiListener.start(server, serverTls);
  const { client, transport, clock } = clientOf(listener.url);
  await client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n1' } } });
  for (let i = 0; i < 5; i++) {
    await clock.advance(31_000);
    // The answer to the ping comes in real time.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  await client.request({ method: 'GET', path: '/api/v1/nodes/n1' });
  assert.equal(listener.connections, 1);
  transport.close();
});

test('more watches than a connection takes open another', async () => {
  const server = instant();
  await using listener = await ApiListener.start(server, { ...serverTls, maxStreams: 5 });
  const { client, transport } = clientOf(listener.url);
  await client.request({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n1' } } });
  const stop = new AbortController();
  const streams = [];
  for (let i = 0; i < 12; i++) {
    streams.push(await client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true }, signal: stop.signal }));
  }
  assert.equal(server.watches().length, 12);
  assert.equal(listener.connections, 3);
  stop.abort();
  for (const stream of streams) {
    await assert.rejects(async () => {
      for await (const event of stream) assert.ok(event);
    }, fails('Canceled'));
  }
  transport.close();
});

test('a server with a certificate of somebody else is refused, with a reason', async () => {
  await using listener = await ApiListener.start(instant(), serverTls);
  const strangers = { ...clientA, ca: pem('client-b') };
  const wrong = { ...clientA, serverName: 'wrong.test' };
  const right = { ...clientA, serverName: 'api.test' };
  const { client } = clientOf(listener.url, () => strangers);
  await assert.rejects(
    client.request({ method: 'GET', path: '/version' }),
    (err) => fails('Unavailable')(err) && /certificate/.test(String(err)),
  );
  const named = clientOf(listener.url, () => wrong);
  await assert.rejects(named.client.request({ method: 'GET', path: '/version' }), /wrong\.test/);
  const fitting = clientOf(listener.url, () => right);
  await fitting.client.request({ method: 'GET', path: '/api/v1/nodes' });
  fitting.transport.close();
});

/** The client alone, over the simulated transport in virtual time. */
function simulated(deps: Partial<ConstructorParameters<typeof KubeClient>[0]> = {}) {
  const clock = new SimClock();
  const server = new SimApiServer({ clock, random: new SimRandom(1) });
  const client = new KubeClient({
    transport: server,
    auth: noAuth,
    limiter: unlimited,
    clock,
    log: silentLogger,
    userAgent: 'test',
    ...deps,
  });
  return { clock, server, client };
}

/** What a call ends in, as virtual time passes. */
async function settled<T>(clock: SimClock, work: Promise<T>, maxMs = 3_600_000): Promise<{ value?: T; error?: unknown; ms: number }> {
  const from = clock.monotonic();
  let result: { value?: T; error?: unknown } | undefined;
  work.then(
    (value) => (result = { value }),
    (error: unknown) => (result = { error }),
  );
  assert.ok(await clock.runUntil(() => result !== undefined, maxMs), 'never settled');
  return { ...result, ms: clock.monotonic() - from };
}

test('429 with Retry-After is waited for, at most 10 times; without one it is an error', async (t) => {
  const { clock, server, client } = simulated();
  server.faults.push(() => ({ status: 429, reason: 'TooManyRequests', retryAfterSeconds: 3 }));
  const { error, ms } = await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }));
  fails('TooManyRequests')(error);
  assert.equal(isKubeError(error) && error.retryAfterMs, 3000);
  assert.equal(server.requests.length, 11);
  assert.ok(ms >= 30_000 && ms < 30_100, `${ms}`);
  t.diagnostic(`injected: 429 with Retry-After 3 s for ever; gave up after ${ms / 1000} s and 11 requests`);
  server.faults.push(() => ({ status: 429 }));
  server.requests.length = 0;
  fails('TooManyRequests')((await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }))).error);
  assert.equal(server.requests.length, 1);
});

test('a call that takes too long, or is aborted, ends then', async () => {
  const { clock, server, client } = simulated();
  server.faults.push(() => ({ hang: true }));
  const late = await settled(clock, client.request({ method: 'GET', path: '/x', timeoutMs: 10_000 }));
  fails('Timeout')(late.error);
  assert.equal(late.ms, 10_000);
  const stop = new AbortController();
  const work = client.request({ method: 'GET', path: '/x', signal: stop.signal });
  clock.after(500, () => stop.abort());
  const ended = await settled(clock, work);
  fails('Canceled')(ended.error);
  assert.equal(ended.ms, 500);
});

test('answers that are cut, no JSON or not a Status have their own codes', async () => {
  const { clock, server, client } = simulated();
  server.faults.push(() => ({ cutBodyAt: 10 }));
  fails('Unavailable')((await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }))).error);
  server.faults.push(() => ({ status: 502 }));
  fails('Unavailable')((await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }))).error);
  server.faults.push(() => ({ status: 409, reason: 'Conflict', message: 'the object has been modified' }));
  const { error } = await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }));
  assert.ok(isKubeError(error, 'Conflict'));
  assert.equal(error.message, 'the object has been modified');
  assert.equal(error.operation, 'GET /api/v1/nodes');
  const answers = new KubeClient({
    transport: {
      send: () =>
        Promise.resolve({
          status: 200,
          headers: {},
          body: (async function* () {
            yield Buffer.from('{"secret":"s3cr3t"');
          })(),
        }),
      close() {},
    },
    auth: noAuth,
    limiter: unlimited,
    clock,
    log: silentLogger,
    userAgent: 'test',
  });
  const cut = await settled(clock, answers.request({ method: 'GET', path: '/x' }));
  fails('BadResponse')(cut.error);
  assert.doesNotMatch(String(cut.error), /s3cr3t/);
});

test('kubeAPIQPS and burst: 10 at once, then 5 a second; watches are not counted', async (t) => {
  const clock = new SimClock();
  const server = new SimApiServer({ clock, random: new SimRandom(1), latencyMs: 0 });
  const limiter = new TokenBucketLimiter(clock, 5, 10);
  const client = new KubeClient({ transport: server, auth: noAuth, limiter, clock, log: silentLogger, userAgent: 'test' });
  const all = Promise.all(Array.from({ length: 30 }, () => client.request({ method: 'GET', path: '/api/v1/nodes' })));
  const stream = client.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: true } });
  await clock.settle();
  assert.equal(server.requests.length, 11);
  assert.ok(await stream);
  await settled(clock, all);
  assert.equal(clock.monotonic(), 4000);
  const aborted = new AbortController();
  const given = client.request({ method: 'GET', path: '/api/v1/nodes', signal: aborted.signal });
  aborted.abort();
  fails('Canceled')((await settled(clock, given)).error);
  t.diagnostic('30 requests at 5 a second with a burst of 10 took 4.0 s');
});

test('a credential that the server refuses is asked for again once', async () => {
  let token = 'old';
  const auth: AuthHeaders = {
    headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    rejected: () => {
      token = 'new';
      return true;
    },
  };
  const { clock, server, client } = simulated({ auth });
  server.faults.push((r) => (r.headers['authorization'] === 'Bearer new' ? undefined : { status: 401, reason: 'Unauthorized' }));
  assert.equal((await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }))).error, undefined);
  assert.equal(server.requests.length, 2);
  server.faults.push(() => ({ status: 401, reason: 'Unauthorized' }));
  fails('Unauthorized')((await settled(clock, client.request({ method: 'GET', path: '/api/v1/nodes' }))).error);
  assert.equal(server.requests.length, 4);
});

test('neither tokens nor bodies reach the log', async () => {
  const lines: string[] = [];
  const note = (...parts: unknown[]) =>
    void lines.push(JSON.stringify(parts.map((p) => (p instanceof Error ? `${p.message} ${p.stack}` : p))));
  const log: Logger = { info: note, warn: note, error: note, debug: note, enabled: () => true, child: () => log };
  const auth: AuthHeaders = { headers: () => Promise.resolve({ authorization: 'Bearer s3cr3t' }), rejected: () => false };
  const { clock, server, client } = simulated({ auth, log });
  await settled(
    clock,
    client.request({ method: 'POST', path: '/api/v1/namespaces/ns/secrets', body: { metadata: { name: 's' }, data: { k: 's3cr3t' } } }),
  );
  server.faults.push(() => ({ status: 500, message: 'no' }));
  await settled(clock, client.request({ method: 'POST', path: '/api/v1/namespaces/ns/secrets', body: { data: 's3cr3t' } }));
  assert.ok(lines.length >= 2);
  assert.doesNotMatch(lines.join('\n'), /s3cr3t/);
});
