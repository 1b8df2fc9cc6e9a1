import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { type PodUid, podUid } from '../api/brands.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { KubeError } from '../kube/errors.ts';
import { silentLogger } from '../observe/log.ts';
import { ApiStatusWriter } from './api-writer.ts';
import { StatusManager } from './manager.ts';

const uid = podUid('u');
const pod = (over: Partial<Pod['metadata']> = {}, status: PodStatus = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid, resourceVersion: '1', annotations: { 'kubernetes.io/config.source': 'api' }, ...over },
  spec: { containers: [] },
  status,
});
const ready = (status: 'True' | 'False') => [{ type: 'Ready', status }];

/** A writer on an API server of one pod, whose answers the test gives. */
function rig(options: { fail?: (call: KubeCall) => KubeError | undefined; mayRun?: () => boolean } = {}) {
  const clock = new SimClock();
  const calls: { at: number; method: string; path: string; body: Record<string, unknown> }[] = [];
  const server = { pod: pod() };
  let version = 1;
  const api: KubeApi = {
    async request<T>(call: KubeCall): Promise<T> {
      calls.push({ at: clock.monotonic(), method: call.method, path: call.path, body: (call.body ?? {}) as Record<string, unknown> });
      const failure = options.fail?.(call);
      if (failure !== undefined) throw failure;
      if (call.method === 'PATCH') {
        const { status } = call.body as { status: PodStatus };
        server.pod = {
          ...server.pod,
          metadata: { ...server.pod.metadata, resourceVersion: String(++version) },
          status: { ...server.pod.status, ...status },
        };
      }
      return server.pod as T;
    },
    stream: () => Promise.reject(new Error('not asked')),
  };
  const statuses = new StatusManager({ clock, log: silentLogger });
  const mayRun: (uid: PodUid) => boolean = options.mayRun ?? (() => true);
  const writer = new ApiStatusWriter({ api, statuses, clock, log: silentLogger, apiPod: () => server.pod, mayRun });
  const stop = new AbortController();
  writer.start(stop.signal);
  return { clock, calls, server, statuses, writer, stop };
}

test('changes that nobody waits for go together; a ready one at once, with what waited', async () => {
  const { clock, calls, statuses, stop, writer } = rig();
  statuses.set(pod(), { phase: 'Pending', conditions: ready('False') });
  await clock.advance(50);
  statuses.set(pod(), { phase: 'Pending', conditions: ready('False'), podIP: '10.0.0.1' });
  await clock.advance(50);
  assert.equal(calls.length, 0, 'held back');
  statuses.set(pod(), { phase: 'Running', conditions: ready('True'), podIP: '10.0.0.1' });
  await clock.advance(1);
  assert.equal(calls.length, 1, 'ready goes first');
  const { metadata, status } = (calls[0]?.body ?? assert.fail('no request')) as { metadata: object; status: PodStatus };
  assert.deepEqual(metadata, { uid }, 'the server refuses a pod of that name that came later');
  assert.deepEqual([status.phase, status.podIP], ['Running', '10.0.0.1']);
  await clock.advance(60_000);
  assert.equal(calls.length, 1, 'nothing is sent that the server has');
  stop.abort();
  await writer.stop();
});

test('a change alone goes after a moment', async () => {
  const { clock, calls, statuses, stop, writer } = rig();
  statuses.set(pod(), { phase: 'Pending', conditions: ready('False') });
  await clock.advance(250);
  assert.equal(calls.length, 1);
  stop.abort();
  await writer.stop();
});

test('what fails is tried again by the next full pass, without a storm', async () => {
  let broken = true;
  const fail = () => (broken ? new KubeError('Unavailable', 'PATCH', 'away', { status: 503 }) : undefined);
  const { clock, calls, server, statuses, stop, writer } = rig({ fail });
  statuses.set(pod(), { phase: 'Running', conditions: ready('True') });
  await clock.advance(60_000);
  assert.ok(calls.length >= 5 && calls.length <= 8, `${calls.length} requests in a minute`);
  broken = false;
  await clock.advance(11_000);
  assert.equal(server.pod.status?.phase, 'Running');
  stop.abort();
  await writer.stop();
});

test('a pod that was asked to go is deleted there once nothing of it is left here, not before', async () => {
  let running = true;
  const { clock, calls, server, statuses, stop, writer } = rig({ mayRun: () => running });
  const leaving = pod({ deletionTimestamp: '2030-01-01T00:00:00Z' });
  server.pod = leaving;
  statuses.set(leaving, { phase: 'Failed', conditions: [] });
  await clock.advance(1_000);
  assert.deepEqual(
    calls.filter((c) => c.method === 'DELETE'),
    [],
  );
  assert.equal(server.pod.status?.phase, undefined, 'an end is not told while a container may run');
  running = false;
  statuses.terminate(leaving);
  await clock.advance(100);
  const deleted = calls.find((c) => c.method === 'DELETE');
  assert.deepEqual(deleted?.body['preconditions'], { uid });
  assert.equal(deleted?.body['gracePeriodSeconds'], 0);
  stop.abort();
  await writer.stop();
});
