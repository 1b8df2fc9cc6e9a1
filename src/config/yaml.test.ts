import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainScalar } from './plain-scalar.ts';
import { type Located, parseLocated } from './yaml.ts';

function parse(text: string | Uint8Array) {
  return parseLocated(typeof text === 'string' ? Buffer.from(text) : text);
}

/** A value without its places. */
function bare(node: Located | undefined): unknown {
  if (node === undefined) return undefined;
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(bare);
  return Object.fromEntries([...node.entries].map(([k, e]) => [k, bare(e.value)]));
}

function at(node: Located | undefined, ...path: (string | number)[]): string {
  let here = node;
  for (const step of path) {
    if (here?.kind === 'map') here = here.entries.get(String(step))?.value;
    else if (here?.kind === 'list') here = here.items[Number(step)];
  }
  return here === undefined ? 'nowhere' : `${here.at.line}:${here.at.column}`;
}

test('unquoted scalars mean what YAML 1.1 says', () => {
  const expected: [string, unknown][] = [
    ['yes', true],
    ['Off', false],
    ['y', true],
    ['N', false],
    ['~', null],
    ['', null],
    ['12', 12n],
    ['-12', -12n],
    ['+12', 12n],
    ['010', 8n],
    ['0o17', 15n],
    ['0x1F', 31n],
    ['0b101', 5n],
    ['1_000', 1000n],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['1e3', 1000],
    ['08', 8],
    ['1:30', '1:30'],
    ['2026-01-31', '2026-01-31'],
    ['2026-01-31T10:00:00Z', '2026-01-31T10:00:00Z'],
    ['18446744073709551615', 18446744073709551615n],
    ['10m', '10m'],
    ['1.2.3', '1.2.3'],
    ['yEs', 'yEs'],
    ['.inf', Number.POSITIVE_INFINITY],
    ['-', '-'],
    ['.', '.'],
  ];
  for (const [text, value] of expected) assert.deepEqual(plainScalar(text), value, text);
});

test('every value has its place, in YAML and in JSON', () => {
  const yaml = parse('a: 1\nb:\n  c:\n  - x\n  - {d: 2}\n');
  assert.deepEqual(bare(yaml.value), { a: 1n, b: { c: ['x', { d: 2n }] } });
  assert.equal(at(yaml.value, 'a'), '1:4');
  assert.equal(at(yaml.value, 'b', 'c', 0), '4:5');
  assert.equal(at(yaml.value, 'b', 'c', 1, 'd'), '5:9');
  const json = parse('{\n  "a": 1,\n  "b": {"c": [true, null]}\n}');
  assert.equal(json.json, true);
  assert.deepEqual(bare(json.value), { a: 1n, b: { c: [true, null] } });
  assert.equal(at(json.value, 'b', 'c', 1), '3:21');
});

test('JSON is read by its own rules', () => {
  assert.deepEqual(bare(parse('{"a": 1.0, "b": "yes"}').value), { a: 1, b: 'yes' });
  const broken = parse('{"a": 1,\n "b": yes}');
  assert.equal(broken.value, undefined);
  assert.deepEqual(
    broken.faults.map((f) => f.at),
    [{ line: 2, column: 7 }],
  );
  assert.match(broken.faults[0]?.message ?? '', /not JSON/);
  const places: [string, string][] = [
    ['{"a": 1', '1:8'],
    ['{"a": 1,}', '1:9'],
    ['{a: 1}', '1:2'],
    ['{"a": [1 2]}', '1:10'],
    ['{"a": "x\n"}', '1:7'],
    ['{"a" 1}', '1:6'],
    ['{}\n{}', '2:1'],
  ];
  for (const [text, place] of places) {
    const [fault] = parse(text).faults;
    assert.equal(`${fault?.at.line}:${fault?.at.column}`, place, text);
  }
});

test('anchors, aliases and merge keys', () => {
  const parsed = parse('a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\nd: {<<: [*x], "<<": 4}\n');
  assert.deepEqual(bare(parsed.value), { a: { p: 1n, q: 2n }, b: { p: 1n, q: 2n }, c: { q: 3n, p: 1n }, d: { '<<': 4n, p: 1n, q: 2n } });
  assert.equal(parse('a: *nobody\n').faults.length, 1);
  assert.equal(parse('a: {<<: 5}\n').faults.length, 1);
});

test('keys that stand twice are told, the last one counts', () => {
  const parsed = parse('a: 1\nb: {c: 1,\n  c: 2}\na: 3\n');
  assert.deepEqual(bare(parsed.value), { a: 3n, b: { c: 2n } });
  assert.deepEqual(parsed.duplicates, [
    { path: 'b.c', at: { line: 3, column: 3 }, firstLine: 2 },
    { path: 'a', at: { line: 4, column: 1 }, firstLine: 1 },
  ]);
});

test('only the first document counts', () => {
  const parsed = parse('a: 1\n---\nb: [\n');
  assert.deepEqual(bare(parsed.value), { a: 1n });
  assert.equal(parsed.secondDocumentLine, 2);
});

test('another YAML version is not read', () => {
  assert.match(parse('%YAML 1.2\n---\na: 1\n').faults[0]?.message ?? '', /only 1\.1/);
  assert.deepEqual(bare(parse('%YAML 1.1\n---\na: yes\n').value), { a: true });
});

test('keys become text; __proto__ is a key like any other', () => {
  const parsed = parse('1: a\ntrue: b\n__proto__: {x: 1}\n');
  assert.ok(parsed.value?.kind === 'map');
  assert.deepEqual([...parsed.value.entries.keys()], ['1', 'true', '__proto__']);
  assert.equal(parse('? [a]\n: b\n').faults.length, 1);
  assert.equal(parse('~: b\n').faults.length, 1);
});

test('syntax errors have a place', () => {
  const faults = parse('a: 1\nb: [\nc: 2\n').faults;
  assert.equal(faults.length > 0, true);
  assert.equal(faults[0]?.at.line, 3);
  assert.equal(parse('a: .nan\n').faults[0]?.at.column, 4);
});

test('binary, empty and oversized input', () => {
  assert.match(parse(Buffer.from([0x61, 0, 0x62])).faults[0]?.message ?? '', /binary/);
  assert.match(parse(Buffer.from([0xff, 0xfe, 0x61])).faults[0]?.message ?? '', /binary/);
  assert.equal(bare(parse('').value), null);
  assert.equal(bare(parse('# only a comment\n').value), null);
  assert.match(parse(Buffer.alloc((1 << 20) + 1, 0x61)).faults[0]?.message ?? '', /1048577 bytes/);
});

test('an alias bomb and endless nesting are refused', () => {
  let bomb = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n';
  for (let i = 1; i < 12; i++)
    bomb += `a${i}: &a${i} [${Array(9)
      .fill(`*a${i - 1}`)
      .join(', ')}]\n`;
  assert.match(parse(bomb).faults[0]?.message ?? '', /more than/);
  assert.match(parse(`a: ${'['.repeat(100)}${']'.repeat(100)}\n`).faults[0]?.message ?? '', /nested/);
  assert.equal(parse(`a: ${'['.repeat(20_000)}`).faults.length > 0, true);
  assert.equal(parse('a: &a [*a]\n').faults.length, 1);
});
