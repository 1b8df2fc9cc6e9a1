import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { systemClock } from '../../src/host/clock.ts';
import { alwaysAllow } from '../../src/server/auth/authorize.ts';
import { newAuthority } from '../e2e/cluster/pki.ts';
import { ask, execSpdy, execWebSocket, type KubeletClient, Refused } from '../support/kubeletClient.ts';
import { type ServerWorld, startServerWorld } from '../support/serverWorld.ts';

/** The TLS port on loopback with a runtime that misbehaves as it is told. */

let world: ServerWorld;
let client: KubeletClient;
let fire: () => void = () => {};

before(async () => {
  const clock = {
    ...systemClock,
    // The look at the files is fired by hand.
    after(ms: number, fn: () => void, background?: boolean) {
      if (ms !== 5_000) return systemClock.after(ms, fn, background);
      fire = fn;
      return { cancel() {} };
    },
  };
  world = await startServerWorld({
    authorizer: alwaysAllow,
    clock,
    tlsMinVersion: 'VersionTLS13',
    limits: { strangersPerAddress: 20, strangers: 20, total: 100 },
  });
  client = await world.client('admin');
});

after(() => world?.[Symbol.asyncDispose]());

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
    world.runtime = (_req, socket) => void socket.end('HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n');
    assert.deepEqual(await refusal(how), [502, 'the container runtime answered the upgrade with status 302'], how);
    world.runtime = (_req, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nSet-Cookie: a=b\r\n\r\nnope');
    assert.deepEqual(await refusal(how), [403, 'nope'], how);
    world.runtime = (_req, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
    assert.equal((await refusal(how))[0], 502, how);
    world.runtime = (_req, socket) => void socket.destroy();
    assert.equal((await refusal(how))[0], 502, how);
    world.runtime = (_req, socket) => void socket.end('garbage\r\n\r\n');
    assert.equal((await refusal(how))[0], 502, how);
  }
  for (let i = 0; i < 50 && world.upstreamConnections > 0; i++) await sleep(20);
  assert.equal(world.upstreamConnections, 0);
});

test('credentials do not reach the runtime', async () => {
  const seen = new Promise<IncomingMessage>((done) => {
    world.runtime = (req, socket) => {
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
  world.files.set('ca', next.certPem);
  fire();
  await sleep(50);
  assert.equal((await ask(newClient, '/pods')).status, 200);
  assert.equal((await ask(client, '/pods')).status, 401);

  const before = await servedName();
  const serving = await next.server('renewed', ['127.0.0.1']);
  world.files.set('crt', serving.certPem);
  fire();
  await sleep(50);
  assert.equal(await servedName(), before, 'the certificate does not fit to the key');
  world.files.set('key', serving.keyPem);
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
