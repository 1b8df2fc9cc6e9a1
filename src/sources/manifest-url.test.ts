import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { setReader, turn } from '../../test/support/setReader.ts';
import { ConfigSourceAnnotation } from '../api/annotations.ts';
import type { HttpAnswer, HttpGetOptions } from '../host/http-get.ts';
import { silentLogger } from '../observe/log.ts';
import { ManifestUrl } from './manifest-url.ts';
import type { PodSet } from './types.ts';

const item = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [{ name: 'c', image: 'x' }] } });
const list = (...names: string[]) => JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: names.map(item) });

/** A source whose server answers with what `answers` holds, the last one again and again. */
function world(...answers: (Response | Error | 'hang')[]) {
  const clock = new SimClock();
  const requests: HttpGetOptions[] = [];
  const infos: string[] = [];
  const get = async (_url: string, options: HttpGetOptions): Promise<HttpAnswer> => {
    requests.push(options);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    if (answer === 'hang')
      return await new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason as Error)));
    return (answers.length > 0 && answer === answers[0] ? answer?.clone() : answer) ?? new Response(null, { status: 404 });
  };
  const log = { ...silentLogger, info: (message: string) => void infos.push(message) };
  const header = { 'X-Token': ['a', 'b'] };
  const source = new ManifestUrl({ url: 'http://h/pods', header, httpCheckFrequencyMs: 20_000, nodeName: 'n1', clock, log, get });
  const abort = new AbortController();
  const reader = setReader(source.sets(abort.signal), abort, clock, 1000);
  return {
    source,
    requests,
    infos,
    ...reader,
  };
}

const names = (set: PodSet | undefined) => set?.pods.map(({ metadata }) => metadata.name);

test('a pod or a list, with the headers of the configuration', async () => {
  const w = world(new Response(JSON.stringify(item('a'))), new Response(list('a', 'b')));
  const first = await w.next(0);
  assert.deepEqual(names(first), ['a-n1']);
  assert.equal(first?.pods[0]?.metadata.annotations?.[ConfigSourceAnnotation], 'http');
  assert.equal(first?.pods[0]?.spec.tolerations, undefined);
  assert.deepEqual(w.requests[0]?.headers['X-Token'], ['a', 'b']);
  assert.deepEqual(names(await w.next(30_000)), ['a-n1', 'b-n1']);
  await w.stop();
});

test('a body that did not change gives no set; an empty one takes all pods away', async () => {
  const w = world(new Response(list('a')), new Response(list('a')), new Response(''), new Response(''), new Response(list('a')));
  assert.deepEqual(names(await w.next(0)), ['a-n1']);
  assert.deepEqual(names(await w.next(50_000)), []);
  assert.equal(w.requests.length, 3);
  assert.equal(w.source.listing().errors[0]?.code, 'http');
  assert.deepEqual(names(await w.next(100_000)), ['a-n1'], 'they come back with their body');
  await w.stop();
});

test('failures change nothing, are listed, and are told the first few times', async () => {
  const broken = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
  const w = world(broken, new Response(list('a')), new Response('x', { status: 503, statusText: 'Busy' }));
  assert.deepEqual(names(await w.next(30_000)), ['a-n1']);
  assert.equal(await w.next(200_000), undefined);
  const { pods, errors } = w.source.listing();
  assert.deepEqual([pods.length, errors[0]?.message], [1, 'http://h/pods: answered 503 Busy']);
  assert.deepEqual(w.infos, [
    'Failed to read pods from URL',
    'Successfully read pods from URL',
    ...Array(3).fill('Failed to read pods from URL'),
    'Failed to read pods from URL. Dropping verbosity of this message to V(4)',
  ]);
  await w.stop();
});

test('a server that does not answer is left after 10 seconds', async () => {
  const w = world('hang', new Response(list('a')));
  assert.deepEqual(names(await w.next(40_000)), ['a-n1']);
  assert.equal(w.requests.length, 2);
  await w.stop();
});

test('a bad pod keeps the pods of before', async () => {
  const w = world(new Response(list('a')), new Response(list('a', 'B')));
  assert.deepEqual(names(await w.next(0)), ['a-n1']);
  assert.equal(await w.next(100_000), undefined);
  const { pods, errors } = w.source.listing();
  assert.deepEqual([pods.length, errors[0]?.field], [1, 'items[1].metadata.name']);
  await w.stop();
});

test('the same pod twice in a list', async () => {
  const w = world(new Response(list('a', 'a')));
  const first = await w.next(0);
  assert.deepEqual([names(first), first?.errors[0]?.code], [['a-n1'], 'duplicate-pod']);
  await w.stop();
});

test('a body over 10 MiB is not taken', async () => {
  const w = world(new Response(new Uint8Array((10 << 20) + 1)), new Response('x', { status: 404 }));
  assert.equal(await w.next(0), undefined);
  for (let i = 0; i < 10_000 && w.source.listing().errors.length === 0; i++) await turn();
  assert.equal(w.source.listing().errors[0]?.code, 'too-large');
  await w.stop();
});
