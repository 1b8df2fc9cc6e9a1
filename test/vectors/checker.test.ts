import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { differences, excepted, expectSame, fail, pass, plain } from './checker.ts';
import { describe, parseVectorFile, runFolder, runTopic } from './run.ts';

test('differences names every path', () => {
  assert.deepEqual(differences({ a: 1, b: [1, 2] }, { a: 1, b: [1, 2] }), []);
  assert.deepEqual(differences({ a: 1 }, { a: 2, b: null }), ['out.a: want 1, got 2', 'out.b: want (absent), got null']);
  assert.deepEqual(differences([1], [1, 2]), ['out: want 1 items, got 2: [1,2]']);
  assert.equal(differences({ a: [] }, { a: {} }).length, 1);
  assert.equal(differences('1', 1).length, 1);
});

test('plain turns bigints into text and drops undefined', () => {
  assert.deepEqual(plain({ a: 5n, b: undefined, c: new Map([['d', [1n]]]) }), { a: '5', c: { d: ['1'] } });
});

test('a refusal passes only where the real one refused, and a crash never', async () => {
  const refuse = () => {
    throw new Error('no');
  };
  const crash = () => {
    throw new TypeError('undefined is not a function');
  };
  assert.deepEqual(await expectSame({ name: 'a', in: {}, error: 'bad' }, refuse), pass);
  assert.equal((await expectSame({ name: 'a', in: {}, out: {} }, refuse)).verdict, 'fail');
  assert.equal((await expectSame({ name: 'a', in: {}, error: 'bad' }, crash)).verdict, 'fail');
  assert.equal((await expectSame({ name: 'a', in: {}, error: 'bad' }, () => 1)).verdict, 'fail');
  assert.equal((await expectSame({ name: 'a', in: {}, out: { x: 1 } }, () => ({ x: 2 }))).verdict, 'fail');
});

test('the lines of a topic', async () => {
  const file = {
    topic: 't',
    cases: ['p', 'f', 'x', 'x'].map((name) => ({ name, in: {}, out: {} })),
  };
  const result = await runTopic(file, (c) => (c.name === 'p' ? pass : c.name === 'f' ? fail('wrong') : excepted('by rule')));
  assert.deepEqual(describe(result), ['t: 1 passed, 1 failed, 2 excepted', '  excepted 2: by rule', '  FAILED f: wrong']);
  assert.deepEqual(describe(await runTopic(file, undefined)), ['t: not covered (4 cases)']);
});

test('a malformed file is refused with a reason', () => {
  for (const text of [
    '',
    '[]',
    '{}',
    '{"topic":"../x","cases":[]}',
    '{"topic":"a"}',
    '{"topic":"a","cases":[1]}',
    '{"topic":"a","cases":[{"name":"n","in":{}}]}',
  ])
    assert.throws(() => parseVectorFile(text), Error, text);
});

test('a folder with a malformed file and an unknown topic is run to its end', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vectors-'));
  try {
    await writeFile(join(folder, 'broken.json'), '{"topic":');
    await writeFile(join(folder, 'other.json'), '{"topic":"nobody-knows","cases":[{"name":"a","in":{},"out":1}]}');
    const lines: string[] = [];
    assert.equal(await runFolder(folder, (line) => lines.push(line)), false);
    assert.match(lines[0] ?? '', /^broken\.json: cannot be used: /);
    assert.equal(lines[1], 'nobody-knows: not covered (1 cases)');
    assert.match(lines[2] ?? '', /^total: 0 passed, 0 failed, 0 excepted in 0 topics; 1 topics not covered, 1 files unusable$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
