import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { expand, expandCommandAndArgs, expandStaticCommand, expandSubPath, lookupIn, SubPathExpansionError } from './env-expansion.ts';

test('text whose dollars are doubled comes out as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'é') }), (t) => {
      assert.equal(
        expand(t.replaceAll('$', '$$$$'), () => 'never'),
        t,
      );
    }),
  );
});

test('references', () => {
  const vars = lookupIn(
    new Map([['A', 'x']]),
    new Map([
      ['A', 'y'],
      ['B', '$(A)'],
    ]),
  );
  assert.equal(expand('$(A)$(B)$(C)', vars), 'x$(A)$(C)');
  assert.equal(expand('$$(A) $(A $', vars), '$(A) $(A $');
  assert.equal(expand('$(__proto__)$()', vars), '$(__proto__)$()');
});

test('many unclosed references cost linear time', () => {
  const text = '$('.repeat(500_000);
  assert.equal(
    expand(text, () => 'x'),
    text,
  );
});

test('an empty list is none, the last of equal names wins', () => {
  const env = [
    { name: 'A', value: '1' },
    { name: 'A', value: '2' },
  ];
  assert.deepEqual(expandCommandAndArgs({ command: [], args: ['$(A)'] }, env), { command: undefined, args: ['2'] });
  assert.deepEqual(expandStaticCommand(['$(A)'], [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'x' } } }]), ['']);
});

test('a sub path needs every value', () => {
  assert.equal(expandSubPath('a/$(A)', [{ name: 'A', value: 'b' }]), 'a/b');
  assert.throws(
    () => expandSubPath('$(Z)/$(A)', [{ name: 'A', value: '' }]),
    (error: unknown) => error instanceof SubPathExpansionError && error.names.join() === 'A,Z',
  );
});
