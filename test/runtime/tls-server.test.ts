import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { systemClock } from '../../src/host/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { ObservedPod } from '../../src/pleg/types.ts';
import { certificateAuthenticator } from '../../src/server/auth/authenticate.ts';
import { alwaysAllow } from '../../src/server/auth/authorize.ts';
import { KubeletServer, type KubeletServerDeps } from '../../src/server/kubelet-server.ts';
import { RequestMetrics } from '../../src/server/request-metrics.ts';
import { StreamingHandler } from '../../src/server/streaming/streaming-handler.ts';
import { TlsMaterial } from '../../src/server/tls-material.ts';
import { tlsSettings } from '../../src/server/tls-options.ts';
import { TlsServer } from '../../src/server/tls-server.ts';
import { type Authority, newAuthority } from '../e2e/cluster/pki.ts';
import { ask, execSpdy, execWebSocket, type KubeletClient, Refused } from '../support/kubeletClient.ts';

/** The TLS port on loopback with a runtime that misbehaves as it is told. */

const files = new Map<string, string>();
const stop = new AbortController();
let ca: Authority;
let server: TlsServer;
let client: KubeletClient;
let fire: () => void = () => {};
/** What the runtime's streaming server does with an upgrade. */
let runtime: (req: IncomingMessage, socket: Duplex) => void = () => {};
const plain: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => res.writeHead(500).end();
const upstream = createServer((req, res) => plain(req, res));
const open = new Set<Duplex>();

before(async () => {
  ca = await newAuthority('one');
  const serving = await ca.server('node', ['127.0.0.1']);
  files.set('crt', serving.certPem).set('key', serving.keyPem).set('ca', ca.certPem);
  upstream.on('upgrade', (req, socket) => runtime(req, socket));
  upstream.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/exec/token`;
  const clock = {
    ...systemClock,
    // The look at the files is fired by hand.
    after(ms: number, fn: () => void, background?: boolean) {
      if (ms !== 5_000) return systemClock.after(ms, fn, background);
      fire = fn;
      return { cancel() {} };
    },
  };
  const material = new TlsMaterial({
    certFile: 'crt',
    keyFile: 'key',
    clientCAFile: 'ca',
    settings: tlsSettings({ tlsMinVersion: 'VersionTLS13', tlsCipherSuites: [], tlsCurvePreferences: [] }).settings,
    files: { read: async (path) => Buffer.from(files.get(path) ?? '') },
    clock,
    log: silentLogger,
  });
  const pods = {
    all: () => [{ metadata: { name: 'p', namespace: 'd', uid: 'u' }, spec: { containers: [{ name: 'c' }] } }] as never,
    observed: () =>
      ({ containers: [{ id: 'id', name: 'c', state: 'running' }], sandboxes: [{ id: 's', state: 'ready' }] }) as unknown as ObservedPod,
    observedAll: () => [],
    staticUid: (uid: string) => uid,
  };
  const urlOf = async () => url;
  const requests = new KubeletServer({
    clock,
    log: silentLogger,
    metrics: new RequestMetrics(createMetrics(), () => 0, 'readwrite'),
    authentication: { authenticators: [certificateAuthenticator], anonymous: false },
    authorizer: alwaysAllow,
    connections: { known: (s) => server.known(s), checkedAgainstCurrentCa: (s) => server.checkedAgainstCurrentCa(s) },
    pods,
    readOnly: (_req: IncomingMessage, res: ServerResponse) => void res.end('read-only'),
    streaming: new StreamingHandler({
      pods,
      streaming: { exec: urlOf, attach: urlOf, portForward: urlOf },
      clock,
      log: silentLogger,
      idleTimeoutMs: 0,
      webSocketTranslated() {},
      translateWebSockets: true,
    }),
    debuggingHandlers: true,
  } as Partial<KubeletServerDeps> as KubeletServerDeps);
  server = new TlsServer({
    address: '127.0.0.1',
    port: 0,
    material,
    requests,
    clock,
    log: silentLogger,
    limits: { strangersPerAddress: 20, strangers: 20, total: 100 },
  });
  await server.start(stop.signal);
  const { certPem: cert, keyPem: key } = await ca.client({ commonName: 'admin' });
  client = { port: server.port() ?? 0, cert, key };
});

after(async () => {
  stop.abort();
  await server.stop();
  upstream.closeAllConnections();
  for (const socket of open) socket.destroy();
  await new Promise((done) => upstream.close(done));
});

const path = '/exec/d/p/c?command=id&output=1';

async function refusal(how: 'spdy' | 'v4' | 'v5'): Promise<[number, string]> {
  const attempt = how === 'spdy' ? execSpdy(client, path) : execWebSocket(client, path, `${how}.channel.k8s.io`);
  const failed = await attempt.catch((err: unknown) => err);
  assert.ok(failed instanceof Refused, String(failed));
  assert.equal(failed.answer.headers.location, undefined);
  return [failed.answer.status, failed.answer.body.toString()];
}

test('a runtime that refuses, redirects or breaks off an upgrade: the client is told, and nothing of the connection is left', async () => {
  for (const how of ['spdy', 'v4', 'v5'] as const) {
    runtime = (_req, socket) => void socket.end('HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n');
    assert.deepEqual(await refusal(how), [502, 'the container runtime answered the upgrade with status 302'], how);
    runtime = (_req, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nSet-Cookie: a=b\r\n\r\nnope');
    assert.deepEqual(await refusal(how), [403, 'nope'], how);
    runtime = (_req, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
    assert.equal((await refusal(how))[0], 502, how);
    runtime = (_req, socket) => void socket.destroy();
    assert.equal((await refusal(how))[0], 502, how);
    runtime = (_req, socket) => void socket.end('garbage\r\n\r\n');
    assert.equal((await refusal(how))[0], 502, how);
  }
  for (let i = 0; i < 50 && open.size > 0; i++) await sleep(20);
  assert.equal(open.size, 0);
});

test('credentials do not reach the runtime', async () => {
  const seen = new Promise<IncomingMessage>((done) => {
    runtime = (req, socket) => {
      socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
      done(req);
    };
  });
  const call = {
    headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', Authorization: 'Bearer secret', Cookie: 'secret', 'X-Secret': 'secret' },
    method: 'POST',
  };
  const { status } = await ask(client, path, call);
  assert.equal(status, 400);
  assert.doesNotMatch(JSON.stringify((await seen).rawHeaders), /secret/);
});

test('too long headers and nonsense end the connection', async () => {
  const raw = async (text: string) => {
    const socket = tlsConnect({ host: '127.0.0.1', port: client.port, cert: client.cert, key: client.key, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    socket.on('error', () => {});
    socket.write(text);
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    await new Promise((closed) => socket.once('close', closed));
    return got.split('\r\n', 1)[0] ?? '';
  };
  // The answer is lost when the connection ends before the client has sent all of it.
  assert.match(
    await raw(`GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(2 << 20)}\r\n\r\n`),
    /^(HTTP\/1.1 431 Request Header Fields Too Large)?$/,
  );
  assert.equal(await raw('nonsense\r\n\r\n'), 'HTTP/1.1 400 Bad Request');
});

test('connections of strangers are limited; who is known still gets in', async () => {
  const idle = Array.from({ length: 60 }, () => connect(client.port, '127.0.0.1'));
  for (const socket of idle) socket.on('error', () => {});
  await sleep(200);
  assert.equal(idle.filter((s) => !s.closed).length, 20);
  for (const socket of idle) socket.destroy();
  await sleep(50);
  assert.equal((await ask(client, '/pods')).status, 200);
});

test('a new client CA counts at once, the old one no more; half a certificate changes nothing', async () => {
  const next = await newAuthority('two');
  const { certPem: cert, keyPem: key } = await next.client({ commonName: 'admin' });
  const newClient = { ...client, cert, key };
  assert.equal((await ask(newClient, '/pods')).status, 401);
  files.set('ca', next.certPem);
  fire();
  await sleep(50);
  assert.equal((await ask(newClient, '/pods')).status, 200);
  assert.equal((await ask(client, '/pods')).status, 401);

  const before = await servedName();
  const serving = await next.server('renewed', ['127.0.0.1']);
  files.set('crt', serving.certPem);
  fire();
  await sleep(50);
  assert.equal(await servedName(), before, 'the certificate does not fit to the key');
  files.set('key', serving.keyPem);
  fire();
  await sleep(50);
  assert.equal(await servedName(), 'renewed');
});

async function servedName(): Promise<string | undefined> {
  const socket = tlsConnect({ host: '127.0.0.1', port: client.port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return Array.isArray(name) ? name[0] : name;
}

test('versions below the configured one are refused', async () => {
  const socket = tlsConnect({ host: '127.0.0.1', port: client.port, rejectUnauthorized: false, maxVersion: 'TLSv1.2' });
  const [err] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.match(String(err.code), /ALERT_PROTOCOL_VERSION|ECONNRESET/);
});
