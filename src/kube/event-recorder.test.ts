import assert from 'node:assert/strict';
import test from 'node:test';
import type { Clock } from '../host/clock.ts';
import type { EventObject } from '../observe/events.ts';
import { silentLogger } from '../observe/log.ts';
import type { KubeApi, KubeCall } from './api.ts';
import { KubeError } from './errors.ts';
import { EventCorrelator, type RawEvent } from './event-correlator.ts';
import { ApiEvents } from './event-recorder.ts';
import type { KubeEvent } from './types.ts';

const pod: EventObject = { kind: 'Pod', namespace: 'ns', name: 'web', uid: 'u1' };
const raw = (message: string, monotonic = 0, more: Partial<RawEvent> = {}): RawEvent => ({
  object: pod,
  type: 'Warning',
  reason: 'Failed',
  message,
  at: 1_000_000 + monotonic,
  monotonic,
  name: `web.${monotonic}.${message}`,
  ...more,
});

test('the same event again counts up under its first name', () => {
  const correlator = new EventCorrelator();
  const first = correlator.correlate(raw('x', 0));
  assert.deepEqual([first?.count, first?.exists, first?.name], [1, false, 'web.0.x']);
  const second = correlator.correlate(raw('x', 5000));
  assert.deepEqual([second?.count, second?.exists, second?.name], [2, true, 'web.0.x']);
  assert.deepEqual([second?.firstAt, second?.lastAt], [1_000_000, 1_005_000]);
});

test('the same text of another container, reason, type or object is another event', () => {
  const correlator = new EventCorrelator();
  correlator.correlate(raw('x'));
  for (const other of [
    { object: { ...pod, fieldPath: 'spec.containers{a}' } },
    { object: { ...pod, uid: 'u2' } },
    { reason: 'Other' },
    { type: 'Normal' as const },
  ]) {
    assert.equal(correlator.correlate(raw('x', 0, other))?.count, 1);
  }
});

test('the 10th different message within 10 min, and those after it, are combined', () => {
  const correlator = new EventCorrelator();
  const messages = Array.from({ length: 13 }, (_, i) => correlator.correlate(raw(`m${i}`, i * 1000)));
  assert.deepEqual(
    messages.map((e) => e?.message.startsWith('(combined from similar events): ')),
    Array.from({ length: 13 }, (_, i) => i >= 9),
  );
  assert.deepEqual([messages[9]?.count, messages[10]?.count, messages[12]?.count], [1, 2, 4]);
  assert.equal(messages[12]?.message, '(combined from similar events): m12');
  // After 10 minutes of rest it begins anew.
  assert.equal(correlator.correlate(raw('late', 12_000 + 600_001))?.message, 'late');
});

test('one object has 25 events, then one in 5 minutes; what was kept back is in the count', () => {
  const correlator = new EventCorrelator();
  const sent = Array.from({ length: 40 }, () => correlator.correlate(raw('x'))).filter((e) => e !== undefined);
  assert.equal(sent.length, 25);
  assert.equal(correlator.correlate(raw('x', 299_000)), undefined);
  assert.equal(correlator.correlate(raw('x', 300_000))?.count, 42);
  assert.equal(correlator.correlate(raw('x', 301_000)), undefined);
  assert.ok(correlator.correlate(raw('x', 301_000, { object: { ...pod, uid: 'other' } })));
});

test('memory is bounded: of many objects the oldest is forgotten', () => {
  const correlator = new EventCorrelator();
  correlator.correlate(raw('x'));
  for (let i = 0; i < 4096; i++) correlator.correlate(raw('x', 0, { object: { ...pod, uid: `n${i}` } }));
  assert.equal(correlator.correlate(raw('x'))?.count, 1);
});

/** Time that only `sleep` moves. */
function fakeClock(): Clock & { slept: number[] } {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => 1_700_000_000_000 + now,
    monotonic: () => now,
    after: () => ({ cancel() {} }),
    async sleep(ms) {
      slept.push(ms);
      now += ms;
    },
  };
}

function recorder(answer: (call: KubeCall) => unknown) {
  const calls: KubeCall[] = [];
  const api: KubeApi = {
    async request<T>(call: KubeCall) {
      calls.push(call);
      return (await answer(call)) as T;
    },
    stream: () => Promise.reject(new Error('not asked for')),
  };
  const clock = fakeClock();
  const events = new ApiEvents({ api, nodeName: 'n1', clock, random: { float: () => 0.5, hex: (n) => 'ab'.repeat(n) }, log: silentLogger });
  return { calls, clock, events };
}

/** The event that a call sends. */
function sentBy(call: KubeCall | undefined): KubeEvent {
  assert.ok(call);
  return call.body as KubeEvent;
}

/** Lets everything run that waits for nothing. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('an event goes out as the kubelet forms it; a repeat is a patch of its count', async () => {
  const { calls, events } = recorder(() => ({}));
  const stop = new AbortController();
  events.start(stop.signal);
  const object = { ...pod, fieldPath: 'spec.containers{c}' };
  events.event(object, 'Normal', 'Pulled', 'Container image already present');
  events.event(object, 'Normal', 'Pulled', 'Container image already present');
  events.event({ kind: 'Node', namespace: '', name: 'n1', uid: 'n1' }, 'Normal', 'Starting', '');
  await turn();
  assert.equal(calls.length, 3);
  assert.deepEqual(calls[0], {
    method: 'POST',
    path: '/api/v1/namespaces/ns/events',
    timeoutMs: 60_000,
    signal: stop.signal,
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `web.${(1_700_000_000_000n * 1_000_000n).toString(16)}`, namespace: 'ns' },
      involvedObject: { kind: 'Pod', namespace: 'ns', name: 'web', uid: 'u1', apiVersion: 'v1', fieldPath: 'spec.containers{c}' },
      reason: 'Pulled',
      message: 'Container image already present',
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '2023-11-14T22:13:20Z',
      lastTimestamp: '2023-11-14T22:13:20Z',
      count: 1,
      type: 'Normal',
      eventTime: null,
      reportingComponent: 'kubelet',
      reportingInstance: 'n1',
    },
  });
  assert.equal(calls[1]?.method, 'PATCH');
  assert.equal(calls[1]?.path, `/api/v1/namespaces/ns/events/${sentBy(calls[0]).metadata.name}`);
  assert.deepEqual(calls[1]?.body, { count: 2, lastTimestamp: '2023-11-14T22:13:20Z', message: 'Container image already present' });
  // Events of the node stand in the default namespace, and refer to one without.
  assert.equal(calls[2]?.path, '/api/v1/namespaces/default/events');
  assert.equal('namespace' in sentBy(calls[2]).involvedObject, false);
  stop.abort();
  await events.stop();
});

test('an event that the server has forgotten is created again with its count', async () => {
  const { calls, events } = recorder((call) => {
    if (call.method === 'PATCH') throw new KubeError('NotFound', 'op', 'gone', { status: 404 });
    return {};
  });
  const stop = new AbortController();
  events.start(stop.signal);
  events.event(pod, 'Normal', 'A', 'x');
  events.event(pod, 'Normal', 'A', 'x');
  await turn();
  assert.deepEqual(
    calls.map((c) => [c.method, (c.body as { count: number }).count]),
    [
      ['POST', 1],
      ['PATCH', 2],
      ['POST', 2],
    ],
  );
  stop.abort();
  await events.stop();
});

test('without a server each event is tried 12 times; callers never wait; the queue is bounded', async () => {
  const { calls, clock, events } = recorder(() => {
    throw new KubeError('Unavailable', 'op', 'connect ECONNREFUSED');
  });
  for (let i = 0; i < 1500; i++) events.event({ ...pod, uid: `u${i}` }, 'Normal', 'A', 'x');
  assert.equal(events.dropped, 500);
  const stop = new AbortController();
  events.start(stop.signal);
  for (let i = 0; i < 5; i++) await turn();
  stop.abort();
  await events.stop();
  assert.deepEqual(clock.slept.slice(0, 12), [5000, ...Array<number>(10).fill(10_000), 5000]);
  const first = calls.filter((c) => sentBy(c).involvedObject.uid === 'u0');
  assert.equal(first.length, 12);
});

test('what the server refuses is not tried again', async () => {
  const { calls, events } = recorder(() => {
    throw new KubeError('Forbidden', 'op', 'namespace is being terminated', { status: 403, causes: ['NamespaceTerminating'] });
  });
  const stop = new AbortController();
  events.start(stop.signal);
  events.event(pod, 'Normal', 'A', 'x');
  await turn();
  assert.equal(calls.length, 1);
  stop.abort();
  await events.stop();
});

test('a name too long for the suffix is replaced', async () => {
  const { calls, events } = recorder(() => ({}));
  const stop = new AbortController();
  events.start(stop.signal);
  events.event({ ...pod, name: 'a'.repeat(250) }, 'Normal', 'A', 'x');
  await turn();
  assert.match(sentBy(calls[0]).metadata.name, /^(ab){16}\.[0-9a-f]{16}$/);
  stop.abort();
  await events.stop();
});
