import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerHash, containerHashedText, containerHashHex, containerHashJson } from './container-hash.ts';

test('only name and image count', () => {
  const a = containerHash({ name: 'a', image: 'i' });
  assert.equal(containerHash({ name: 'a', image: 'i', args: ['x'] } as { name: string; image: string }), a);
  assert.notEqual(containerHash({ name: 'b', image: 'i' }), a);
  assert.notEqual(containerHash({ name: 'a', image: 'j' }), a);
});

test('the JSON is escaped as Go escapes it', () => {
  assert.equal(
    containerHashJson({ name: 'a<b>&"\\\n\u2028\ud800é', image: '' }),
    '{"image":"","name":"a\\u003cb\\u003e\\u0026\\"\\\\\\n\\u2028\ufffdé"}',
  );
});

test('a known hash, in hex without leading zeros', () => {
  assert.equal(
    containerHashedText({ name: 'a' }),
    '([]uint8)[123 34 105 109 97 103 101 34 58 34 34 44 34 110 97 109 101 34 58 34 97 34 125]',
  );
  assert.equal(containerHash({ name: 'a' }), 54472240);
  assert.equal(containerHashHex({ name: 'a' }), '33f2e30');
});
