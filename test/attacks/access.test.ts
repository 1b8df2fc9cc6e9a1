import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/host/clock.ts';
import { tokenAuthenticator } from '../../src/server/auth/authenticate.ts';
import type { Authorizer } from '../../src/server/auth/authorize.ts';
import { newAuthority } from '../e2e/cluster/pki.ts';
import { attack, isFullCount } from '../support/attack.ts';
import { ask, execSpdy, execWebSocket, type KubeletClient, openSpdy, openWebSocket, Refused } from '../support/kubeletClient.ts';
import { startServerWorld } from '../support/serverWorld.ts';

/** Who is not let in, or may do less than they try. Contract http-api §2 and §3. */

/** Every endpoint of the contract, and what it asks for beside the method's own verb. */
const endpoints: readonly [path: string, subresources: readonly string[]][] = [
  ['/healthz', ['healthz', 'proxy']],
  ['/healthz/ping', ['healthz', 'proxy']],
  ['/pods', ['pods', 'proxy']],
  ['/pods/', ['pods', 'proxy']],
  ['/runningpods/', ['pods', 'proxy']],
  ['/allocatedPods', ['pods', 'proxy']],
  ['/allocatedPods/d/p', ['pods', 'proxy']],
  ['/configz', ['configz', 'proxy']],
  ['/flagz', ['configz']],
  ['/statusz', ['statusz']],
  ['/stats/summary', ['stats']],
  ['/metrics', ['metrics']],
  ['/metrics/cadvisor', ['metrics']],
  ['/metrics/resource', ['metrics']],
  ['/metrics/probes', ['metrics']],
  ['/metrics/slis', ['metrics']],
  ['/logs', ['log']],
  ['/logs/', ['log']],
  ['/logs/syslog', ['log']],
  ['/checkpoint/d/p/c', ['checkpoint']],
  ['/containerLogs/d/p/c', ['proxy']],
  ['/exec/d/p/c?command=id&output=1', ['proxy']],
  ['/exec/d/p/u/c?command=id&output=1', ['proxy']],
  ['/attach/d/p/c?output=1', ['proxy']],
  ['/portForward/d/p', ['proxy']],
  ['/portForward/d/p?port=80', ['proxy']],
  ['/run/d/p/c?cmd=id', ['proxy']],
  ['/debug/pprof/', ['proxy']],
  ['/debug/pprof/cmdline', ['proxy']],
  ['/debug/pprof/heap', ['proxy']],
  ['/debug/flags/v', ['proxy']],
  ['/', ['proxy']],
  ['/nothing', ['proxy']],
];
const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
  HEAD: '',
  OPTIONS: '',
};
/** `npm test` tries the two that clients use most. */
const methods = isFullCount ? Object.keys(verbs) : ['GET', 'POST'];
const runsSomething = /^\/(exec|attach|run|portForward)\//;

const denied: Authorizer = async () => ({ kind: 'denied' });
/** Allows these `verb subresource` pairs to everybody. */
const only =
  (...allowed: string[]): Authorizer =>
  async (_user, { verb, subresources }) =>
    subresources.some((s) => allowed.includes(`${verb} ${s}`)) ? { kind: 'allowed' } : { kind: 'denied' };

attack('who is not known gets 401, on every endpoint with every method', { tries: 1 }, async (bout) => {
  await using world = await startServerWorld({
    authorizer: only(...Object.values(verbs).flatMap((v) => endpoints.flatMap(([, subs]) => subs.map((s) => `${v} ${s}`)))),
    authenticators: [tokenAuthenticator({ reviewer: { review: async () => undefined }, cacheTtlMs: 1_000, clock: systemClock })],
  });
  const other = await newAuthority('clients');
  const forged = await other.client({ commonName: 'system:admin', organizations: ['system:masters'] });
  const server = await world.ca.server('server-only', ['127.0.0.1']);
  const clients: Record<string, KubeletClient> = {
    'no credentials': { port: world.port },
    'unknown token': { port: world.port, token: 'made.up' },
    'certificate of a CA with the same name': { port: world.port, cert: forged.certPem, key: forged.keyPem },
    'certificate that is for servers only': { port: world.port, cert: server.certPem, key: server.keyPem },
  };
  for (const [who, client] of Object.entries(clients)) {
    for (const [path] of endpoints) {
      for (const method of methods) {
        const { status } = await ask(client, path, { method });
        if (status === 401) bout.harmless('401');
        else bout.escape(`${who}: ${method} ${path} gave ${status}`);
      }
    }
    for (const protocol of ['v4.channel.k8s.io', 'v5.channel.k8s.io', 'base64.channel.k8s.io', '']) {
      const failed = await execWebSocket(client, '/exec/d/p/c?command=id&output=1', protocol).catch((err: unknown) => err);
      if (failed instanceof Refused && failed.answer.status === 401) bout.harmless('upgrade 401');
      else bout.escape(`${who}: a WebSocket ${protocol}`);
    }
  }
  assert.deepEqual(world.served, []);
});

attack('who may do nothing gets 403, on every endpoint with every method', { tries: 1 }, async (bout) => {
  await using world = await startServerWorld({ authorizer: denied });
  const nobody = { ...(await world.client('nobody', ['system:masters'])), agent: new Agent({ keepAlive: true }) };
  for (const [path] of endpoints) {
    for (const method of methods) {
      const { status, body } = await ask(nobody, path, { method });
      if (status === 403 && (method === 'HEAD' || body.toString().startsWith('Forbidden (user=nobody, verb='))) bout.harmless('403');
      else bout.escape(`${method} ${path} gave ${status}`);
    }
  }
});

attack('each right opens its own endpoints and no other', { tries: 1 }, async (bout) => {
  const rights = (isFullCount ? ['get', 'create', 'update', 'patch', 'delete'] : ['get', 'create']).flatMap((verb) =>
    ['pods', 'healthz', 'configz', 'statusz', 'stats', 'metrics', 'log', 'checkpoint', 'proxy'].map((sub) => `${verb} ${sub}`),
  );
  let right = '';
  await using world = await startServerWorld({ authorizer: (user, attributes) => only(right)(user, attributes) });
  const client = { ...(await world.client('reader')), agent: new Agent({ keepAlive: true }) };
  for (right of rights) {
    for (const [path, subresources] of endpoints) {
      // HEAD and OPTIONS ask for no verb at all: nobody has a right to that.
      for (const method of methods.filter((m) => m !== 'OPTIONS')) {
        const verb = runsSomething.test(path) ? 'create' : verbs[method];
        const may = subresources.some((s) => right === `${verb} ${s}`);
        // A profile of the heap takes its time and is no question of rights.
        if (may && path === '/debug/pprof/heap') continue;
        const { status } = await ask(client, path, { method });
        if (may === (status !== 403)) bout.harmless(may ? 'let in' : '403');
        else bout.escape(`${right}: ${method} ${path} gave ${status}`);
      }
    }
  }
});

attack('exec, attach and port-forward with rights to read only, by any way to begin them', { tries: 1 }, async (bout) => {
  await using world = await startServerWorld({
    authorizer: only('get proxy', ' proxy', 'get pods', 'update proxy', 'patch proxy', 'delete proxy'),
  });
  const reader = await world.client('reader');
  let reached = 0;
  world.runtime = (_req, socket) => {
    reached++;
    socket.destroy();
  };
  const paths = [
    '/exec/d/p/c?command=id&output=1',
    '/attach/d/p/c?output=1',
    '/portForward/d/p?port=80',
    '/%65xec/d/p/c?command=id&output=1',
  ];
  const protocols = [
    'v5.channel.k8s.io',
    'v4.channel.k8s.io',
    'channel.k8s.io',
    'base64.channel.k8s.io',
    'v4.base64.channel.k8s.io',
    'SPDY/3.1+portforward.k8s.io',
  ];
  for (const path of paths) {
    const ways = [
      ...protocols.map((protocol) => () => openWebSocket(reader, path, protocol)),
      ...['v4.channel.k8s.io', 'portforward.k8s.io'].map((protocol) => () => openSpdy(reader, path, protocol)),
      () => execSpdy(reader, path),
    ];
    for (const way of ways) {
      const failed = await way().catch((err: unknown) => err);
      if (failed instanceof Refused && failed.answer.status === 403) bout.harmless('403');
      else bout.escape(`${path}: ${String(failed)}`);
    }
    for (const method of methods) {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'X-HTTP-Method-Override': 'POST',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      };
      const { status } = await ask(reader, path, { method, headers });
      if (status === 403) bout.harmless('403');
      else bout.escape(`${method} ${path} gave ${status}`);
    }
  }
  assert.equal(reached, 0, 'the runtime was never asked');
});

attack('paths that might mean one thing to authorization and another to the router', { tries: 1 }, async (bout) => {
  await using world = await startServerWorld({ authorizer: only('get pods', 'get healthz', 'get metrics', 'get log') });
  const reader = await world.client('reader');
  const targets = ['exec/d/p/c?command=id&output=1', 'run/d/p/c?cmd=id', 'configz', 'containerLogs/d/p/c', 'debug/pprof/cmdline'];
  const prefixes = [
    '/pods/../',
    '/pods/..%2f',
    '/pods/%2e%2e/',
    '//',
    '/./',
    '/pods//',
    '/healthz/..;/',
    '/metrics/../',
    '/logs/../',
    '/\\',
    '/pods\\..\\',
    '/%2f',
    '/pods%00/../',
    '/pods;/../',
    '/pods/#/../',
    'http://127.0.0.1/',
    '/metrics/%2e%2e%2f',
    '/pods%2f..%2f',
  ];
  for (const prefix of prefixes) {
    for (const target of targets) {
      for (const method of ['GET', 'POST']) {
        const answer = await ask(reader, prefix + target, { method }).catch(() => undefined);
        const status = answer?.status ?? 400;
        // What stays below an endpoint that may be read is answered by that endpoint.
        const own = status === 200 && answer?.body.toString() === 'read-only' && prefix.startsWith('/healthz/');
        if (own || [400, 403, 404].includes(status)) bout.harmless(own ? 'below healthz' : String(status));
        else bout.escape(`${method} ${prefix}${target} gave ${status} ${answer?.body.toString().slice(0, 40)}`);
      }
    }
  }
});

attack(
  'a token review that hangs: unknown senders wait and get 401, known ones are served meanwhile',
  { tries: 400, shortTries: 200 },
  async (bout) => {
    // The review's ten seconds pass in one.
    const clock = {
      ...systemClock,
      after: (ms: number, fn: () => void, background?: boolean) => systemClock.after(ms === 10_000 ? 1_000 : ms, fn, background),
    };
    let under = 0;
    let most = 0;
    const reviewer = {
      review: (_token: string, signal: AbortSignal) => {
        most = Math.max(most, ++under);
        signal.addEventListener('abort', () => under--, { once: true });
        return new Promise<undefined>(() => {});
      },
    };
    await using world = await startServerWorld({
      authorizer: only('get pods'),
      authenticators: [tokenAuthenticator({ reviewer, cacheTtlMs: 60_000, clock })],
      clock,
    });
    // Its connection is made before: what counts is whether the hanging ones hold up who is known, not how fast handshakes are.
    const known = { ...(await world.client('known')), agent: new Agent({ keepAlive: true }) };
    assert.equal((await ask(known, '/pods')).status, 200);
    const hanging = Array.from({ length: bout.tries }, (_, i) => ask({ port: world.port, token: `token-${i}` }, '/pods'));
    await sleep(200);
    for (let i = 0; i < 20; i++) {
      const begin = performance.now();
      assert.equal((await ask(known, '/pods')).status, 200);
      const waited = performance.now() - begin;
      assert.ok(waited < 20_000, `a known client waited ${Math.round(waited)} ms`);
    }
    for (const { status } of await Promise.all(hanging)) {
      if (status === 401) bout.harmless('401');
      else bout.escape(`a token that nobody reviewed gave ${status}`);
    }
    assert.ok(most <= 64, `${most} reviews at once`);
  },
);

attack('a runtime that redirects, refuses or breaks an upgrade', { tries: 60, shortTries: 15 }, async (bout) => {
  await using world = await startServerWorld({ authorizer: only('create proxy') });
  const client = await world.client('admin');
  const answers = [
    'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 307 Temporary Redirect\r\nLocation: https://attacker.example/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nLocation: http://127.0.0.1:1/\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nGET / H',
    'HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nSet-Cookie: a=b\r\nLocation: http://x/\r\n\r\nnope',
    'garbage\r\n\r\n',
    '',
  ];
  for (let i = 0; i < bout.tries; i++) {
    world.runtime = (_req, socket) => void socket.end(answers[i % answers.length]);
    const way = i % 3 === 0 ? 'spdy' : i % 3 === 1 ? 'v4.channel.k8s.io' : 'v5.channel.k8s.io';
    const path = '/exec/d/p/c?command=id&output=1';
    const failed = await (way === 'spdy' ? openSpdy(client, path, 'v4.channel.k8s.io') : openWebSocket(client, path, way)).catch(
      (err: unknown) => err,
    );
    if (failed instanceof Refused) {
      const { status, headers } = failed.answer;
      if (headers.location === undefined && headers['set-cookie'] === undefined && status >= 400) bout.harmless(String(status));
      else bout.escape(`${answers[i % answers.length]?.slice(0, 20)}: ${status} ${JSON.stringify(headers)}`);
      continue;
    }
    // A connection that was switched over ends with the runtime's; headers beside those of the upgrade are not passed on.
    const upgraded = failed as { socket?: { destroy(): void }; headers?: Record<string, unknown> };
    if (upgraded.headers?.['location'] === undefined) bout.harmless('ended');
    else bout.escape('a Location came through');
    upgraded.socket?.destroy();
  }
  for (let i = 0; i < 100 && world.upstreamConnections > 0; i++) await sleep(20);
  assert.equal(world.upstreamConnections, 0, 'no connection to the runtime is left');
});
