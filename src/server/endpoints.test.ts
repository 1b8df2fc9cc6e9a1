import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import type { Clock } from '../host/clock.ts';
import { Checkpoints } from './checkpoint.ts';
import { HttpError } from './errors.ts';
import type { PodView } from './pods.ts';
import { HealthResults } from './slis.ts';
import { flagz, negotiate, statusz } from './zpages.ts';

/** Asks one handler over a real connection. */
async function ask(
  listener: RequestListener,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; type: string | null }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers });
    return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
  } finally {
    server.close();
  }
}

const pods = {
  all: () => [{ metadata: { name: 'p', namespace: 'd', uid: 'u' }, spec: { containers: [{ name: 'c' }] } }],
  observed: () => ({ containers: [{ id: 'id1', name: 'c', state: 'running' }] }),
} as unknown as PodView;

function checkpoints(more: { usage?: { archives: number; bytes: number; capacity: number; available: number }; fail?: string } = {}) {
  const clock = { at: 0, now: () => 1_700_000_000_000, monotonic: () => clock.at };
  const calls: unknown[] = [];
  const made = new Checkpoints({
    pods,
    runtime: {
      checkpointContainer: async (...args) => {
        calls.push(args);
        if (more.fail !== undefined) throw new Error(more.fail);
      },
    },
    clock: clock as unknown as Clock,
    log: { error: () => {} } as unknown as ConstructorParameters<typeof Checkpoints>[0]['log'],
    directory: '/root/checkpoints',
    usage: async () => more.usage ?? { archives: 0, bytes: 0, capacity: 100, available: 90 },
    makeDirectory: async () => {},
  });
  const answer = { writeHead: () => {}, end: (text: string) => calls.push(text) };
  const serve = async (path: string, query = '') => {
    try {
      await made.serve(path.split('/'), new URL(`http://x/?${query}`), answer as unknown as Parameters<typeof made.serve>[2]);
      return '200';
    } catch (err) {
      assert.ok(err instanceof HttpError);
      return `${err.status} ${err.message}`;
    }
  };
  return { serve, calls, clock };
}

test('checkpoint: the archive’s place, the faults of the contract', async () => {
  const { serve, calls } = checkpoints();
  assert.equal(await serve('d/p/c', 'timeout=3&timeout=7'), '200');
  const location = '/root/checkpoints/checkpoint-p_d-c-2023-11-14T22:13:20Z.tar';
  assert.deepEqual(calls, [['id1', location, 7], JSON.stringify({ items: [location] })]);
  assert.equal(await serve('d/none/c'), '404 pod does not exist');
  assert.equal(await serve('d/p/none'), '404 container none does not exist');
  assert.equal(await serve('d/p/c', 'timeout=x'), '404 cannot parse value of timeout parameter');
  assert.match(await serve('d/p/c', 'timeout=-1'), /^500 checkpointing of d\/p\/c failed/);
  assert.equal(await checkpoints({ fail: 'no criu' }).serve('d/p/c'), '500 checkpointing of d/p/c failed (no criu)');
});

test('checkpoint: ten in a minute, and never more than a part of the disk', async () => {
  const { serve, clock } = checkpoints();
  for (let i = 0; i < 10; i++) assert.equal(await serve('d/p/c'), '200');
  assert.match(await serve('d/p/c'), /^429 /);
  clock.at = 60_000;
  assert.equal(await serve('d/p/c'), '200');
  const full = { archives: 1, bytes: 11, capacity: 100, available: 80 };
  assert.match(await checkpoints({ usage: full }).serve('d/p/c'), /^507 /);
  assert.match(await checkpoints({ usage: { ...full, bytes: 1, available: 14 } }).serve('d/p/c'), /^507 /);
  assert.match(await checkpoints({ usage: { ...full, bytes: 1, archives: 100 } }).serve('d/p/c'), /^507 /);
});

test('statusz and flagz: text, or the object that is asked for', async () => {
  const facts = { startTimeMs: 0, nowMs: 61_000, version: '1.37.2', engine: 'node', paths: ['/pods', '/healthz'] };
  const page: RequestListener = (req, res) => {
    try {
      statusz(facts, req, res);
    } catch (err) {
      res.writeHead(err instanceof HttpError ? err.status : 500).end();
    }
  };
  const text = await ask(page, { accept: '' });
  assert.match(text.text, /^\nkubelet statusz\nWarning:/);
  assert.match(text.text, /^Up: 61 s$/m);
  const json = await ask(page, { accept: 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz' });
  assert.deepEqual(JSON.parse(json.text), {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kubelet' },
    startTime: '1970-01-01T00:00:00Z',
    uptimeSeconds: 61,
    goVersion: 'node',
    binaryVersion: '1.37.2',
    paths: ['/healthz', '/pods'],
  });
  assert.equal((await ask(page, { accept: 'application/json' })).status, 406);
  const flags = await ask(
    (req, res) =>
      flagz(
        new Map([
          ['v', '2'],
          ['config', '/x'],
        ]),
        req,
        res,
      ),
    { accept: '*/*' },
  );
  assert.match(flags.text, /\n\nconfig=\/x\nv=2\n$/);
  assert.equal(negotiate('Flagz', 'image/png'), undefined);
  assert.deepEqual(negotiate('Flagz', 'image/png, application/yaml;g=config.k8s.io;v=v1alpha1;as=Flagz'), {
    format: 'yaml',
    version: 'v1alpha1',
  });
});

test('results of health checks', () => {
  const results = new HealthResults();
  results.observe('ping', true);
  results.observe('ping', true);
  results.observe('syncloop', false);
  assert.deepEqual(
    results
      .text()
      .split('\n')
      .filter((l) => !l.startsWith('#')),
    [
      'kubernetes_healthcheck{name="ping",type="healthz"} 1',
      'kubernetes_healthcheck{name="syncloop",type="healthz"} 0',
      'kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 2',
      'kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 1',
      '',
    ],
  );
  results.reset();
  assert.equal(results.text(), '');
});
