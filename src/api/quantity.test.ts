import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Quantity, QuantityError } from './quantity.ts';

const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'e3', 'e-3', 'E0');
const digits = fc.bigInt({ min: 0n, max: 10n ** 24n }).map(String);
const fraction = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 0, max: 10 ** 9 }).map((n) => `.${n}`),
);
const text = fc.tuple(fc.constantFrom('', '-', '+'), digits, fraction, suffix).map((parts) => parts.join(''));

test('the canonical text reads back as the same number and prints the same again', () => {
  fc.assert(
    fc.property(text, (t) => {
      const q = Quantity.parse(t);
      const again = Quantity.parse(q.toString());
      assert.equal(again.cmp(q), 0);
      assert.equal(again.toString(), q.toString());
    }),
  );
});

test('add and sub are inverse, and cmp agrees with the sign of the difference', () => {
  fc.assert(
    fc.property(text, text, (s, t) => {
      const [a, b] = [Quantity.parse(s), Quantity.parse(t)];
      assert.ok(a.add(b).sub(b).equals(a));
      assert.equal(a.cmp(b), a.sub(b).sign());
      assert.equal(b.cmp(a), -a.cmp(b) + 0);
    }),
  );
});

test('any text is read or refused with QuantityError', () => {
  const odd = fc.string({ unit: fc.constantFrom('0', '1', '9', '.', '-', '+', 'e', 'E', 'i', 'K', 'm', ' ', 'é') });
  fc.assert(
    fc.property(odd, (t) => {
      try {
        Quantity.parse(t).toString();
      } catch (error) {
        assert.ok(error instanceof QuantityError, String(error));
      }
    }),
  );
});

test('values round away from zero and saturate at 64 bits', () => {
  assert.equal(Quantity.parse('1500m').value(), 2n);
  assert.equal(Quantity.parse('-1500m').value(), -2n);
  assert.equal(Quantity.parse('0.5n').milliValue(), 1n);
  assert.equal(Quantity.parse('100E').value(), 2n ** 63n - 1n);
  assert.equal(Quantity.parse('-100E').milliValue(), -(2n ** 63n));
  assert.equal(Quantity.parse('1.5Gi').scaledValue(6), 1611n);
});

test('canonical texts', () => {
  const cases = {
    '1024Ki': '1Mi',
    '1.5Ki': '1536',
    '1000Ki': '1000Ki',
    '0.5Gi': '512Mi',
    '1.1Gi': '1181116006400m',
    '1000E': '1000E',
    '5e-1': '500e-3',
    '01': '01',
  };
  for (const [from, to] of Object.entries(cases)) assert.equal(Quantity.parse(from).toString(), to);
  assert.equal(Quantity.of(2n ** 80n, 'BinarySI').toString(), '1048576Ei');
  assert.equal(Quantity.of(2048, 'BinarySI').toString(), '2Ki');
});

test('a huge exponent is refused before it costs time', () => {
  for (const t of ['1e99999', '1e-99999', `1e${'9'.repeat(400)}`, '9'.repeat(5000)]) assert.throws(() => Quantity.parse(t), QuantityError);
});

test('JSON values', () => {
  assert.equal(Quantity.fromJson(' 5Mi\n').toString(), '5Mi');
  assert.equal(Quantity.fromJson(0.5).toString(), '500m');
  assert.ok(Quantity.fromJson(null).isZero());
  for (const bad of [true, {}, [], undefined, Number.NaN]) assert.throws(() => Quantity.fromJson(bad), QuantityError);
});
