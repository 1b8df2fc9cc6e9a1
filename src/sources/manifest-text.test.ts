import assert from 'node:assert/strict';
import test from 'node:test';
import { ManifestError, type ManifestErrorCode } from './manifest-error.ts';
import type { ManifestNode } from './manifest-node.ts';
import { readTree } from './manifest-text.ts';

function plain(node: ManifestNode | undefined): unknown {
  if (!node) return undefined;
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, plain(value)]));
}

const read = (text: string | Uint8Array): unknown => plain(readTree(text, 'f').root);

function refuses(text: string | Uint8Array, code: ManifestErrorCode, line: number, column: number, problem?: RegExp): void {
  assert.throws(
    () => readTree(text, 'f'),
    (error) => {
      assert.ok(error instanceof ManifestError, String(error));
      assert.deepEqual([error.code, error.line, error.column], [code, line, column], error.message);
      if (problem) assert.match(error.problem, problem);
      return true;
    },
  );
}

test('YAML 1.1 scalars as Kubernetes reads them', () => {
  const text =
    'a: yes\nb: n\nc: 010\nd: 0x1F\ne: 1_000\nf: 1:30\ng: 2020-01-02\nh: ~\ni: "yes"\nj: 3.0\nk: .5\nl: 08\nm: !!str 5\nz: !!binary aGVsbG8=';
  const want = {
    a: true,
    b: false,
    c: 8,
    d: 31,
    e: 1000,
    f: '1:30',
    g: '2020-01-02',
    h: null,
    i: 'yes',
    j: 3,
    k: 0.5,
    l: 8,
    m: '5',
    z: 'hello',
  };
  assert.deepEqual(read(text), want);
});

test('keys become text', () => {
  assert.deepEqual(read('{y: 1, 2: x}'.replace('{', '\n- {')), [{ true: 1, 2: 'x' }]);
  refuses('~: x', 'syntax', 1, 1, /key/);
  refuses('? [a]\n: b', 'syntax', 1, 3, /key/);
});

test('only the first document counts', () => {
  assert.deepEqual(read('a: 1\n---\nb: ['), { a: 1 });
  assert.deepEqual(read('a: 1\n...\nrubbish: ['), { a: 1 });
  assert.equal(read('--- # nothing\n---\na: 1'), null);
  assert.equal(read('# nothing\n'), undefined);
  assert.equal(read(''), undefined);
});

test('anchors, aliases and merge keys; a merge stands where it stands', () => {
  assert.deepEqual(read('a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\nd: {q: 3, <<: *x}\ne: {<<: [{p: 4}, *x]}'), {
    a: { p: 1, q: 2 },
    b: { p: 1, q: 2 },
    c: { p: 1, q: 3 },
    d: { p: 1, q: 2 },
    e: { p: 4, q: 2 },
  });
  refuses('a: *x', 'alias', 1, 4, /no anchor/);
  refuses('a: &x [*x]', 'alias', 1, 8, /contains itself/);
});

test('an alias bomb is refused before anything is expanded', () => {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 12; i++) {
    const [name, before] = [String.fromCharCode(97 + i), String.fromCharCode(96 + i)];
    lines.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`);
  }
  refuses(lines.join('\n'), 'alias', 1, 1, /expands/);
});

test('a key that is given twice is refused with its place, unless asked otherwise', () => {
  refuses('a: 1\nb: 2\na: 3', 'duplicate-key', 3, 1, /"a"/);
  refuses('{"a":1,\n "a":2}', 'duplicate-key', 2, 2);
  assert.deepEqual(plain(readTree('a: 1\na: 3', 'f', 'last').root), { a: 3 });
  assert.deepEqual(plain(readTree('{"a":1,"a":3}', 'f', 'last').root), { a: 3 });
});

test('deep nesting ends in an error, not in a stack', () => {
  for (const text of [`- ${'['.repeat(5000)}`, `${'['.repeat(5000)}${']'.repeat(5000)}`, `{"a":${'['.repeat(5000)}`, '- '.repeat(5000)]) {
    assert.throws(
      () => readTree(text, 'f'),
      (error) => error instanceof ManifestError && error.code === 'nesting',
    );
  }
  const fair = `${'['.repeat(400)}${']'.repeat(400)}`;
  assert.ok(read(fair));
});

test('brackets and quotes may end at any column', () => {
  assert.deepEqual(read('a: {\n  b: 1\n}\nc: [\n"x",\n]\nd:\n  - e: [\n  1\n  ]\n    f: "two\nwords"'), {
    a: { b: 1 },
    c: ['x'],
    d: [{ e: [1], f: 'two words' }],
  });
  refuses('a: [1, 2\nb: 3', 'syntax', 2, 5);
  refuses('a: [1, 2}', 'syntax', 1, 9);
});

test('syntax errors have a place', () => {
  refuses('a: [', 'syntax', 1, 5, /must end with a \]/);
  refuses('a:\n\tb: 1', 'syntax', 2, 1, /[Tt]ab/);
  refuses('a: b: c', 'syntax', 1, 4);
  refuses('a: "\\/"', 'syntax', 1, 4, /JSON/);
  refuses('a: !!int x', 'syntax', 1, 10, /tag/);
  refuses('a: .inf', 'syntax', 1, 4);
});

test('binary files are told as such', () => {
  refuses(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0x02, 0x01, 0x00, 0xff]), 'syntax', 1, 1, /UTF-8/);
  refuses('a: b\nc: \0', 'syntax', 2, 4, /U\+0000/);
});

test('a text that begins with a brace is JSON and nothing else', () => {
  assert.deepEqual(read(' {"a": [1, 2.5, -3, true, false, null, "\\u00e9\\n\\/"], "b": {}}\n'), {
    a: [1, 2.5, -3, true, false, null, 'é\n/'],
    b: {},
  });
  refuses('{a: 1}', 'syntax', 1, 2, /double quotes/);
  refuses('{"a": 1}\n---\n', 'syntax', 2, 1, /after the JSON value/);
  refuses('{"a": 1,}', 'syntax', 1, 9);
  refuses('{"a": 01}', 'syntax', 1, 8);
  refuses('{"a": "x\ny"}', 'syntax', 1, 7);
  refuses('{"a": yes}', 'syntax', 1, 7);
  refuses('{"a" 1}', 'syntax', 1, 6);
  refuses('{"a": [1 2]}', 'syntax', 1, 10);
  refuses('{', 'syntax', 1, 2);
});

test('numbers of a JSON text keep their digits', () => {
  const { root } = readTree('{"a": 9007199254740993, "b": 1.50, "c": 1e3}', 'f');
  assert.ok(root?.kind === 'map');
  const digits = [...root.entries.values()].map(({ value }) => (value.kind === 'scalar' ? [value.value, value.digits] : []));
  assert.deepEqual(digits, [
    [9007199254740993n, '9007199254740993'],
    [1.5, '1.50'],
    [1000, '1e3'],
  ]);
});

test('a key named __proto__ is a key', () => {
  for (const text of ['__proto__: {polluted: yes}', '{"__proto__": {"polluted": true}}']) {
    const { root } = readTree(text, 'f');
    assert.ok(root?.kind === 'map' && root.entries.has('__proto__'));
  }
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('a hostile text takes time in proportion to its length', () => {
  const texts = [
    `{"a": "${'\\u0041'.repeat(50_000)}`,
    `{"a": "${'a'.repeat(300_000)}`,
    `{"a": 1${'0'.repeat(3000)}}`,
    `{${' '.repeat(300_000)}`,
  ];
  for (const text of texts) {
    try {
      readTree(text, 'f');
    } catch (error) {
      assert.ok(error instanceof ManifestError);
    }
  }
});
