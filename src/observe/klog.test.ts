import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKlog, type KlogOptions } from './klog.ts';
import { errorText, klogBody, klogHeader, toJson } from './klog-text.ts';
import { vmoduleLevel } from './vmodule.ts';

const nowMs = new Date(2026, 10, 30, 9, 12, 13, 123).getTime() + 0.456;

function open(options: Partial<KlogOptions> = {}) {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createKlog({ format: 'text', verbosity: 0, now: () => nowMs, streams: { info: stream, error: stream }, ...options });
  return { log, lines };
}

test('the header is klog’s', () => {
  assert.equal(klogHeader('I', nowMs, 42, 'a.ts', 7), 'I1130 09:12:13.123456      42 a.ts:7] ');
  assert.equal(klogHeader('E', new Date(2026, 0, 2, 3, 4, 5, 6).getTime(), 1234567, 'b.ts', 10), 'E0102 03:04:05.006000 1234567 b.ts:10] ');
});

test('values are printed as klog prints them', () => {
  const body = (values: Record<string, unknown>): string => klogBody('m', undefined, [values]);
  assert.equal(body({ s: 'a "b"', n: 1.5, b: true, big: 10n }), '"m" s="a \\"b\\"" n=1.5 b=true big=10');
  assert.equal(body({ pod: { namespace: 'ns', name: 'x' }, node: { name: 'n' } }), '"m" pod="ns/x" node="n"');
  assert.equal(body({ l: ['a', 1], o: { a: { b: null } }, u: undefined, z: null }), '"m" l=["a",1] o={"a":{"b":null}} u=<nil> z=<nil>');
  assert.equal(body({ text: 'one\ntwo\n' }), '"m" text=<\n\tone\n\ttwo\n >');
  assert.equal(body({ m: new Map([['a', 1]]), s: new Set(['b']), e: new Error('bad') }), '"m" m={"a":1} s=["b"] e="bad"');
  assert.equal(
    klogBody('m', new Error('boom', { cause: new Error('inner') }), [{ a: 1 }, { a: 2, err: 'no' }]),
    '"m" err="boom: inner" a=2',
  );
});

test('what has no JSON form does not throw', () => {
  const loop: Record<string, unknown> = { a: 1 };
  loop['self'] = loop;
  assert.equal(toJson(loop), '{"a":1,"self":"(circular)"}');
  const shared = { x: 1 };
  assert.equal(toJson({ a: shared, b: shared }), '{"a":{"x":1},"b":{"x":1}}');
  assert.equal(toJson({ f() {}, n: 2n ** 70n }), `{"n":"${2n ** 70n}"}`);
  const hostile = {
    toJSON() {
      throw new Error('no');
    },
  };
  assert.equal(toJson(hostile), '"(no JSON form)"');
  assert.equal(errorText('text'), 'text');
  assert.equal(errorText({ code: 5 }), '{"code":5}');
});

test('secrets do not reach the log', () => {
  const { log, lines } = open();
  log.info('m', { token: 'abc1', header: { Authorization: 'abc2', ok: 1 }, registryPassword: 'abc3', secret: 'ns/name', tokens: ['abc4'] });
  assert.doesNotMatch(lines.join(''), /abc/);
  assert.match(lines.join(''), /secret="ns\/name"/);
  const json = open({ format: 'json' });
  json.log.info('m', { token: 'abc1', list: [{ password: 'abc2' }] });
  assert.doesNotMatch(json.lines.join(''), /abc/);
});

test('text lines: severity, caller, children', () => {
  const { log, lines } = open();
  log.info('Hello');
  log.warn('Careful', { a: 1 });
  log.error(new Error('bad'), 'Failed', { pod: 'ns/x' });
  log.error(undefined, 'Only text');
  log.child({ pod: 'ns/x' }).child({ container: 'c' }).info('Inner', { n: 1 });
  const shapes = lines.map((line) => line.replace(/^(.)\d{4} \S+ +\d+ (\S+):\d+\]/, '$1 $2]'));
  assert.deepEqual(shapes, [
    'I klog.test.ts] "Hello"\n',
    'W klog.test.ts] "Careful" a=1\n',
    'E klog.test.ts] "Failed" err="bad" pod="ns/x"\n',
    'E klog.test.ts] "Only text"\n',
    'I klog.test.ts] "Inner" pod="ns/x" container="c" n=1\n',
  ]);
});

test('levels, also by source file', () => {
  const { log, lines } = open({ verbosity: 2 });
  log.debug(2, 'two');
  log.debug(3, 'three');
  assert.equal(log.enabled(2), true);
  assert.equal(log.enabled(3), false);
  log.setVerbosity(4);
  log.child({}).debug(4, 'four');
  assert.equal(lines.length, 2);
  const byFile = open({ vmodule: [{ filePattern: 'klog.t*', verbosity: 5 }] });
  byFile.log.debug(5, 'five');
  byFile.log.debug(6, 'six');
  assert.equal(byFile.log.enabled(5), true);
  assert.equal(byFile.lines.length, 1);
  const other = open({ vmodule: [{ filePattern: 'kubelet', verbosity: 5 }] });
  other.log.debug(1, 'one');
  assert.deepEqual(other.lines, []);
});

test('patterns of source files', () => {
  const level = (pattern: string, path: string): number | undefined => vmoduleLevel([{ filePattern: pattern, verbosity: 3 }], path);
  assert.equal(level('kubelet', 'src/kubelet.ts'), 3);
  assert.equal(level('kube*', 'src/kubelet.ts'), 3);
  assert.equal(level('*let', 'src/kubelet.ts'), 3);
  assert.equal(level('k?belet', 'src/kubelet.ts'), 3);
  assert.equal(level('pods/*', 'pods/worker.ts'), 3);
  assert.equal(level('pods/*', 'sync/worker.ts'), undefined);
  assert.equal(level('kube', 'src/kubelet.ts'), undefined);
});

test('JSON lines have klog’s keys', () => {
  const { log, lines } = open({ format: 'json', verbosity: 3 });
  log.debug(3, 'Hello', { pod: { namespace: 'ns', name: 'x' }, n: 1, u: undefined });
  log.error(new Error('bad'), 'Failed', { a: 'b' });
  const [info, error] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    { ...info, caller: undefined },
    { ts: nowMs, caller: undefined, v: 3, msg: 'Hello', pod: { namespace: 'ns', name: 'x' }, n: 1 },
  );
  assert.match(String(info?.['caller']), /^observe\/klog\.test\.ts:\d+$/);
  assert.deepEqual({ ...error, caller: undefined }, { ts: nowMs, caller: undefined, msg: 'Failed', err: 'bad', a: 'b' });
});

test('errors and the rest on streams of their own', () => {
  const info: string[] = [];
  const error: string[] = [];
  const streams = { info: { write: (l: string) => void info.push(l) }, error: { write: (l: string) => void error.push(l) } };
  for (const format of ['text', 'json'] as const) {
    const log = createKlog({ format, verbosity: 0, now: () => nowMs, splitStream: true, streams });
    log.warn('a');
    log.error(undefined, 'b');
  }
  assert.equal(info.length, 2);
  assert.equal(error.length, 2);
});
