import assert from 'node:assert/strict';
import test from 'node:test';
import type { Clock } from '../../host/clock.ts';
import { HttpError } from '../errors.ts';
import { requestLabels } from '../request-metrics.ts';
import { targetOf } from '../target.ts';
import { attributesOf } from './attributes.ts';
import { type AuthenticationOptions, authenticate, certificateAuthenticator, tokenAuthenticator } from './authenticate.ts';
import { type AccessQuestion, webhookAuthorizer } from './authorize.ts';
import { apiAccessReviewer, apiTokenReviewer } from './reviews.ts';
import { TtlCache } from './ttl-cache.ts';
import type { User } from './user.ts';

/** A clock that is set by hand; `fire` runs what waits. */
function handClock() {
  const timers = new Set<() => void>();
  const clock = {
    at: 0,
    now: () => clock.at,
    monotonic: () => clock.at,
    after(_ms: number, fn: () => void) {
      timers.add(fn);
      return { cancel: () => void timers.delete(fn) };
    },
    sleep: () => new Promise<void>(() => {}),
    fire() {
      for (const fn of [...timers]) fn();
    },
  };
  return clock satisfies Clock & { fire(): void };
}

const never = new AbortController().signal;
const certificate = (valid: boolean, commonName = 'jane') => ({ commonName, organizations: ['devs'], valid });

test('what a request asks to be allowed, by path and method', () => {
  const asks = (method: string, path: string) => {
    const { verb, subresources } = attributesOf(method, targetOf(path).segments, path);
    return `${verb} ${subresources.join(',')}`;
  };
  const table: [string, string, string][] = [
    ['GET', '/pods', 'get pods,proxy'],
    ['GET', '/pods/', 'get pods,proxy'],
    ['GET', '/runningpods/', 'get pods,proxy'],
    ['GET', '/allocatedPods/ns/p', 'get pods,proxy'],
    ['GET', '/healthz/ping', 'get healthz,proxy'],
    ['GET', '/configz', 'get configz,proxy'],
    ['GET', '/flagz', 'get configz'],
    ['GET', '/statusz', 'get statusz'],
    ['POST', '/stats/summary', 'create stats'],
    ['GET', '/metrics/cadvisor', 'get metrics'],
    ['GET', '/logs/syslog', 'get log'],
    ['POST', '/checkpoint/a/b/c', 'create checkpoint'],
    ['GET', '/podsX', 'get proxy'],
    ['GET', '/', 'get proxy'],
    ['GET', '/containerLogs/a/b/c', 'get proxy'],
    ['PUT', '/debug/flags/v', 'update proxy'],
    ['DELETE', '/metrics/slis', 'delete metrics'],
    ['PATCH', '/x', 'patch proxy'],
    ['HEAD', '/pods', ' pods,proxy'],
    ['OPTIONS', '/exec/a/b/c', 'create proxy'],
    ['GET', '/exec/a/b/c?command=id', 'create proxy'],
    ['GET', '/%65xec/a/b/c', 'create proxy'],
    ['GET', '/attach/a/b/c', 'create proxy'],
    ['GET', '/portForward/a/b', 'create proxy'],
    ['POST', '/run/a/b/c', 'create proxy'],
  ];
  for (const [method, path, expected] of table) assert.equal(asks(method, path), expected, `${method} ${path}`);
});

test('a path that could be read in two ways is refused', () => {
  for (const path of [
    '//exec/a',
    '/a//b',
    '/a/../exec',
    '/a/%2e%2e/exec',
    '/a/b%2fc',
    '/a/%00',
    '/a/%zz',
    'http://x/pods',
    '*',
    '/./pods',
    '',
  ]) {
    assert.throws(
      () => targetOf(path),
      (err) => err instanceof HttpError && err.status === 400,
      path,
    );
  }
  assert.deepEqual(targetOf('/logs/a%20b/?x=..//').segments, ['logs', 'a b']);
  assert.deepEqual(targetOf('/').segments, ['']);
});

test('labels of a request hold nothing of the sender', () => {
  assert.deepEqual(requestLabels('GET', ['metrics', 'resource'], 'readonly'), {
    method: 'GET',
    path: 'metrics/resource',
    server_type: 'readonly',
    long_running: 'false',
  });
  assert.deepEqual(requestLabels('BREW', ['secret', 'x'], 'readwrite'), {
    method: 'other',
    path: 'other',
    server_type: 'readwrite',
    long_running: 'false',
  });
  assert.equal(requestLabels('POST', ['exec', 'a'], 'readwrite')['long_running'], 'true');
  assert.equal(requestLabels('POST', ['portForward', 'a'], 'readwrite')['long_running'], 'false');
});

test('certificates; wrong credentials are refused even where anonymous requests are let in', async () => {
  const anonymous: AuthenticationOptions = { authenticators: [certificateAuthenticator], anonymous: true };
  const as = async (options: AuthenticationOptions, credentials: Parameters<typeof authenticate>[1]) => {
    const verdict = await authenticate(options, credentials, never);
    return verdict.kind === 'user' ? `${verdict.user.name} ${verdict.user.groups}` : 'refused';
  };
  assert.equal(await as(anonymous, { certificate: certificate(true) }), 'jane devs,system:authenticated');
  assert.equal(await as(anonymous, { certificate: certificate(false) }), 'refused');
  assert.equal(await as(anonymous, { certificate: certificate(true, '') }), 'refused');
  assert.equal(await as(anonymous, {}), 'system:anonymous system:unauthenticated');
  assert.equal(await as({ ...anonymous, anonymous: false }, {}), 'refused');
});

test('tokens are reviewed once for a time, side by side too; a reviewer that fails or hangs is not remembered', async () => {
  const clock = handClock();
  let asked = 0;
  let answer: (token: string) => Promise<User | undefined> = async (token) => (token === 'good' ? { name: 'bot', groups: [] } : undefined);
  const authenticator = tokenAuthenticator({
    reviewer: {
      review: (token) => {
        asked += 1;
        return answer(token);
      },
    },
    cacheTtlMs: 1_000,
    clock,
  });
  const kind = async (token?: string) => (await authenticator(token === undefined ? {} : { token }, never)).kind;
  assert.equal(await kind(), 'none');
  assert.deepEqual(await Promise.all([kind('good'), kind('good'), kind('bad')]), ['user', 'user', 'bad']);
  assert.equal(asked, 2);
  assert.deepEqual([await kind('good'), await kind('bad')], ['user', 'bad']);
  assert.equal(asked, 2);
  clock.at = 1_000;
  answer = async () => {
    throw new Error('down');
  };
  assert.equal(await kind('good'), 'bad');
  answer = () => new Promise(() => {});
  const hanging = kind('good');
  clock.fire();
  assert.equal(await hanging, 'bad');
  answer = async () => ({ name: 'bot', groups: [] });
  assert.equal(await kind('good'), 'user', 'neither failure was kept');
  assert.equal(asked, 5);
});

test('access: the first subresource that is allowed decides; answers are kept for their own times; a failure is told', async () => {
  const clock = handClock();
  const asked: string[] = [];
  let fail = false;
  const authorize = webhookAuthorizer({
    reviewer: {
      async allowed({ user, verb, subresource, nodeName }: AccessQuestion) {
        asked.push(`${user.name} ${verb} ${nodeName}/${subresource}`);
        if (fail) throw new Error('down');
        return subresource === 'proxy' && user.name === 'jane';
      },
    },
    nodeName: 'n1',
    authorizedTtlMs: 100,
    unauthorizedTtlMs: 10,
    clock,
  });
  const jane: User = { name: 'jane', groups: [] };
  const pods = { verb: 'get', subresources: ['pods', 'proxy'], path: '/pods' };
  assert.equal((await authorize(jane, pods)).kind, 'allowed');
  assert.deepEqual(asked, ['jane get n1/pods', 'jane get n1/proxy']);
  assert.equal((await authorize(jane, pods)).kind, 'allowed');
  assert.equal(asked.length, 2);
  clock.at = 50;
  await authorize(jane, pods);
  assert.deepEqual(asked.slice(2), ['jane get n1/pods'], 'the refusal was forgotten, the permission was not');
  assert.equal((await authorize({ ...jane, name: 'joe' }, pods)).kind, 'denied');
  fail = true;
  const failed = await authorize({ ...jane, name: 'eve' }, pods);
  assert.deepEqual([failed.kind, failed.kind === 'failed' && failed.subresource], ['failed', 'pods']);
});

test('reviews by the API server', async () => {
  const sent: unknown[] = [];
  let status: unknown;
  const api = {
    async request<T>(call: { path: string; body?: unknown }): Promise<T> {
      sent.push(call.path, call.body);
      return { status } as T;
    },
  };
  status = { authenticated: true, user: { username: 'u', groups: ['g'], uid: '1' } };
  assert.deepEqual(await apiTokenReviewer(api).review('t', never), { name: 'u', groups: ['g'], uid: '1' });
  status = { authenticated: false, user: { username: 'u' } };
  assert.equal(await apiTokenReviewer(api).review('t', never), undefined);
  const question = { user: { name: 'u', groups: ['g'] }, verb: 'get', nodeName: 'n', subresource: 'stats' };
  status = { allowed: true };
  assert.equal(await apiAccessReviewer(api).allowed(question, never), true);
  assert.deepEqual((sent.at(-1) as { spec: unknown }).spec, {
    resourceAttributes: { verb: 'get', version: 'v1', group: '', resource: 'nodes', subresource: 'stats', name: 'n', namespace: '' },
    user: 'u',
    groups: ['g'],
  });
  status = { allowed: true, denied: true };
  assert.equal(await apiAccessReviewer(api).allowed(question, never), false);
});

test('the cache forgets in time, and the oldest when it is full', () => {
  const clock = handClock();
  const cache = new TtlCache<number>(clock, 2);
  cache.set('a', 1, 10);
  cache.set('b', 2, 10);
  cache.set('c', 3, 10);
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c'), cache.size], [undefined, 2, 3, 2]);
  cache.set('d', 4, 0);
  assert.equal(cache.get('d'), undefined);
  clock.at = 10;
  assert.equal(cache.get('b'), undefined);
});
