import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { dumpPod } from './go-dump.ts';
import { dumpQuantity, goQuantity, roundUpToMilli } from './go-quantity.ts';
import { goType } from './go-schema.ts';

/** The part of the dump between two field names. */
function part(pod: object, from: string, to: string): string {
  const dump = dumpPod(pod);
  const start = dump.indexOf(`${from}:`);
  return dump.slice(start, dump.indexOf(` ${to}:`, start));
}

test('tells nil from empty', () => {
  assert.equal(part({ metadata: {} }, 'Labels', 'Annotations'), 'Labels:(map[string]string)<nil>');
  assert.equal(part({ metadata: { labels: {} } }, 'Labels', 'Annotations'), 'Labels:(map[string]string)map[]');
  assert.equal(part({ metadata: { finalizers: [] } }, 'Finalizers', 'ManagedFields'), 'Finalizers:([]string)[]');
  assert.equal(part({ spec: { priority: 0 } }, 'Priority', 'DNSConfig'), 'Priority:(*int32)0');
  assert.equal(part({ spec: {} }, 'Priority', 'DNSConfig'), 'Priority:(*int32)<nil>');
});

test('sorts keys by bytes, not by UTF-16 units', () => {
  const labels = { '\u{1F600}': 'b', '\uFF5E': 'a' };
  assert.equal(part({ metadata: { labels } }, 'Labels', 'Annotations'), 'Labels:(map[string]string)map[\uFF5E:a \u{1F600}:b]');
});

test('prints whole numbers beyond the safe range', () => {
  const spec = { activeDeadlineSeconds: 9223372036854775807n };
  assert.equal(part({ spec }, 'ActiveDeadlineSeconds', 'DNSPolicy'), 'ActiveDeadlineSeconds:(*int64)9223372036854775807');
});

test('prints times without a location', () => {
  const metadata = { creationTimestamp: '2020-01-02T05:04:05.5+02:00' };
  const time = '{Time:(time.Time){wall:(uint64)500000000 ext:(int64)63713531045 loc:(*time.Location)<nil>}}';
  assert.equal(part({ metadata }, 'CreationTimestamp', 'DeletionTimestamp'), `CreationTimestamp:(v1.Time)${time}`);
});

test('does not take what Object inherits for a field', () => {
  assert.equal(part({ metadata: Object.create({ name: 'inherited' }) }, 'Name', 'GenerateName'), 'Name:(string)');
});

test('quantities: small and big form, kept text, rounding up', () => {
  const small = (value: number, scale: number, text: string, format: string) =>
    `{i:(resource.int64Amount){value:(int64)${value} scale:(resource.Scale)${scale}} d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)${text} Format:(resource.Format)${format}}`;
  assert.equal(dumpQuantity(goQuantity('1500m')), small(1500, -3, '1500m', 'DecimalSI'));
  assert.equal(dumpQuantity(goQuantity(' 0.5 ')), small(5, -1, '', 'DecimalSI'));
  assert.equal(dumpQuantity(goQuantity('64Mi')), small(67108864, 0, '', 'BinarySI'));
  assert.equal(dumpQuantity(goQuantity('-1Ki')), small(-1024, 0, '-1Ki', 'BinarySI'));
  assert.equal(dumpQuantity(roundUpToMilli(goQuantity('0.0001'))), small(1, -3, '', 'DecimalSI'));
  const big = dumpQuantity(goQuantity('123456789012345678901'));
  assert.match(big, /unscaled:\(big\.Int\)\{neg:\(bool\)false abs:\(big\.nat\)\[\d+ \d+\]\} scale:\(inf\.Scale\)9\}/);
});

test('every type of the schema can be read', () => {
  const source = readFileSync(new URL('./pod-schema.ts', import.meta.url), 'utf8');
  const names = [...source.matchAll(/^ {2}'((?:core|v1)\.\w+)': \[/gm)].map((match) => match[1] ?? '');
  assert.ok(names.length > 100);
  for (const name of names) assert.equal(goType(name).kind, 'struct', name);
  assert.throws(() => goType('core.Nothing'), /no type core\.Nothing/);
});

test('the vectors: the whole hashed text', async () => {
  const { staticPodHashedText } = await import('../sources/static-pod.ts');
  const { readTree } = await import('../sources/manifest-text.ts');
  const { decodeStruct } = await import('../sources/decode-json.ts');
  const { defaultPod } = await import('../api/pod-defaults.ts');
  const { podType } = await import('./go-schema.ts');
  const file = new URL('../../test/fixtures/vectors/static-pod.json', import.meta.url);
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as {
    cases: { name: string; in: Record<string, string>; out?: { hashedText?: string } }[];
  };
  const hashed = cases.filter((c) => c.out?.hashedText !== undefined);
  assert.ok(hashed.length >= 20);
  for (const { name, in: given, out } of hashed) {
    const tree = readTree(given['manifest'] ?? '', name, 'last');
    assert.ok(tree.root);
    const pod = decodeStruct(tree.root, podType, name, tree.json) as never;
    defaultPod(pod);
    const text = staticPodHashedText(pod, { kind: 'file', location: given['path'] ?? '', nodeName: given['nodeName'] ?? '' });
    assert.equal(text, out?.hashedText, name);
  }
});
