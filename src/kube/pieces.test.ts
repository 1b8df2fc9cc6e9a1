import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { SimClock } from '../../test/sim/clock.ts';
import { SimRandom } from '../../test/sim/random.ts';
import type { KubeObject } from './api.ts';
import { Deadline } from './deadline.ts';
import { kubeErrorFrom } from './errors.ts';
import { splitLines } from './json-lines.ts';
import { ObjectStore } from './object-store.ts';
import { TokenBucketLimiter } from './rate-limiter.ts';
import { RetryBackoff } from './retry-backoff.ts';
import { apiPath, podTarget } from './typed.ts';
import { watchEvent } from './watch-event.ts';

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(bytes.length, cut);
    yield bytes.subarray(from, to);
    from = to;
  }
  yield bytes.subarray(from);
}

test('lines come out the same however the bytes were cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1 })),
      fc.array(fc.nat(400)),
      fc.boolean(),
      async (words, cuts, ends) => {
        const lines = words.map((w) => JSON.stringify(w));
        const bytes = new TextEncoder().encode(lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));
        const out: string[] = [];
        const complete: boolean[] = [];
        for await (const line of splitLines(chunksOf(bytes, cuts))) {
          out.push(line.text);
          complete.push(line.complete);
        }
        assert.deepEqual(out, lines);
        assert.deepEqual(
          complete,
          lines.map((_, i) => ends || i < lines.length - 1),
        );
      },
    ),
  );
});

test('a line without end is refused before it fills memory', async () => {
  const endless = async function* () {
    for (;;) yield new Uint8Array(1000).fill(0x20);
  };
  await assert.rejects(async () => {
    for await (const _line of splitLines(endless(), 10_000)) assert.fail('no line was ended');
  }, RangeError);
});

test('waits between failures: 0.8 s to 30 s, jittered, forgotten after 2 min', (t) => {
  const clock = new SimClock();
  for (const [at, edge] of [
    [0, 'least'],
    [0.999999, 'most'],
  ] as const) {
    const backoff = new RetryBackoff(clock, { float: () => at });
    const waits = Array.from({ length: 8 }, () => Math.round(backoff.next()));
    const factor = at === 0 ? 1 : 2;
    assert.deepEqual(
      waits,
      [800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 15_000].map((ms) => ms * factor),
    );
    t.diagnostic(`${edge}: ${waits.join(', ')} ms`);
  }
});

test('a server that names a time is obeyed, up to 5 min; rest makes the waits short again', async () => {
  const clock = new SimClock();
  const backoff = new RetryBackoff(clock, new SimRandom(1));
  assert.equal(backoff.next(20_000), 20_000);
  assert.equal(backoff.next(86_400_000), 300_000);
  for (let i = 0; i < 10; i++) backoff.next();
  assert.ok(backoff.next() >= 15_000);
  await clock.advance(120_001);
  assert.ok(backoff.next() < 1_600);
});

test('the limit of requests holds over any pattern of calls', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(500), { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 10 }),
      async (gaps, qps, burst) => {
        const clock = new SimClock();
        const limiter = new TokenBucketLimiter(clock, qps, burst);
        const gone: number[] = [];
        const order: number[] = [];
        for (const [i, gap] of gaps.entries()) {
          await clock.advance(gap);
          void limiter.take().then(() => {
            gone.push(clock.monotonic());
            order.push(i);
          });
        }
        await clock.advance(100_000);
        assert.equal(gone.length, gaps.length);
        assert.deepEqual(
          order,
          [...order].sort((a, b) => a - b),
          'first come, first served',
        );
        for (let from = 0; from < gone.length; from++) {
          for (let to = from; to < gone.length; to++) {
            const seconds = ((gone[to] ?? 0) - (gone[from] ?? 0)) / 1000;
            assert.ok(to - from + 1 <= burst + seconds * qps + 1.01);
          }
        }
      },
    ),
    { numRuns: 30 },
  );
});

test('a deadline counts from its last restart, and ends with its parent', async () => {
  const clock = new SimClock();
  using deadline = new Deadline(clock, undefined, 1000);
  await clock.advance(900);
  deadline.restart();
  await clock.advance(900);
  assert.equal(deadline.expired, false);
  deadline.restart(5000);
  await clock.advance(4999);
  assert.equal(deadline.expired, false);
  await clock.advance(1);
  assert.equal(deadline.expired, true);
  assert.equal(deadline.signal.aborted, true);
  const parent = new AbortController();
  using child = new Deadline(clock, parent.signal, 1000);
  parent.abort(new Error('enough'));
  assert.equal(child.expired, false);
  assert.equal((child.signal.reason as Error).message, 'enough');
});

const object = (name: string, uid: string, resourceVersion: string): KubeObject => ({
  metadata: { name, namespace: 'ns', uid, resourceVersion },
});

test('the store tells each change once, and another UID as another object', () => {
  const store = new ObjectStore<KubeObject>();
  const types = (changes: ReturnType<typeof store.upsert>) => changes.map((c) => `${c.type} ${c.object.metadata.uid}`);
  assert.deepEqual(types(store.upsert(object('a', '1', '5'))), ['added 1']);
  assert.deepEqual(types(store.upsert(object('a', '1', '5'))), []);
  assert.deepEqual(types(store.upsert(object('a', '1', '4'))), []);
  assert.deepEqual(types(store.upsert(object('a', '1', '10'))), ['updated 1']);
  assert.deepEqual(types(store.upsert(object('a', '2', '11'))), ['deleted 1', 'added 2']);
  assert.deepEqual(types(store.remove(object('a', '1', '12'))), [], 'the older one was told');
  assert.deepEqual(types(store.remove(object('a', '2', '13'))), ['deleted 2']);
  assert.deepEqual(types(store.remove(object('a', '2', '13'))), []);
  store.replace([object('b', '3', '20'), object('c', '4', '20')]);
  assert.deepEqual(types(store.replace([object('c', '4', '3'), object('d', '5', '3')])), ['updated 4', 'added 5', 'deleted 3']);
  assert.deepEqual([...store.objects.keys()], ['ns/c', 'ns/d']);
});

test('errors of the API by reason, then by status', () => {
  const status = (reason: string, code: number, more: object = {}) =>
    kubeErrorFrom('GET /x', code, { kind: 'Status', reason, code, message: 'm', ...more });
  assert.equal(status('AlreadyExists', 409).code, 'AlreadyExists');
  assert.equal(status('Conflict', 409).code, 'Conflict');
  assert.equal(status('Expired', 410).code, 'Gone');
  assert.equal(status('', 410).code, 'Gone');
  assert.equal(kubeErrorFrom('GET /x', 503, '<html>').code, 'Unavailable');
  assert.equal(kubeErrorFrom('GET /x', 418, undefined).code, 'BadRequest');
  const slow = status('TooManyRequests', 429, { details: { retryAfterSeconds: 4, causes: [{ reason: 'A' }, null, { reason: 1 }] } });
  assert.equal(slow.retryAfterMs, 4000);
  assert.deepEqual(slow.causes, ['A']);
  assert.equal(status('NotFound', 404, { message: 'x'.repeat(10_000) }).message.length, 4096);
});

test('events of a watch are checked', () => {
  assert.equal(watchEvent({ type: 'ADDED', object: { metadata: { name: 'a' } } }, 'op'), undefined, 'no version');
  assert.equal(watchEvent({ type: 'ADDED', object: { metadata: { resourceVersion: '1' } } }, 'op'), undefined, 'no name');
  assert.equal(watchEvent({ type: 'OTHER', object: object('a', '1', '1') }, 'op'), undefined);
  for (const bad of [null, 7, 'x', [], { type: 'ADDED' }, { type: 'BOOKMARK', object: [] }]) assert.equal(watchEvent(bad, 'op'), undefined);
  const error = watchEvent({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }, 'op');
  assert.equal(error?.type === 'ERROR' && error.error.code, 'Gone');
});

test('a name that would lead to another path is refused', () => {
  assert.equal(apiPath('/api/v1/nodes', 'a.b'), '/api/v1/nodes/a.b');
  for (const bad of ['', '.', '..', 'a/b', 'a%2fb', 'a?x', 'a#x']) assert.throws(() => apiPath('/api/v1/nodes', bad), RangeError);
  assert.deepEqual(podTarget('n1'), { path: '/api/v1/pods', fieldSelector: 'spec.nodeName=n1' });
});
