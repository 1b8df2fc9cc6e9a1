import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fnv1aHash32, fnv1aHash64, fnv1aHash128, fnv1aHash128Hex, fnv1Hash32, fnv1Hash64, fnv1Hash128 } from './fnv.ts';

/** The definition, bit for bit, on bigints. */
function reference(data: Uint8Array, bits: bigint, basis: bigint, prime: bigint, xorFirst: boolean): bigint {
  const mask = (1n << bits) - 1n;
  let h = basis;
  for (const byte of data) h = xorFirst ? ((h ^ BigInt(byte)) * prime) & mask : ((h * prime) & mask) ^ BigInt(byte);
  return h;
}
const P32 = [32n, 0x811c9dc5n, 0x01000193n] as const;
const P64 = [64n, 0xcbf29ce484222325n, 0x100000001b3n] as const;
const P128 = [128n, 0x6c62272e07bb014262b821756295c58dn, (1n << 88n) + 0x13bn] as const;

test('every width equals the definition on any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
      assert.equal(BigInt(fnv1Hash32(data)), reference(data, ...P32, false));
      assert.equal(BigInt(fnv1aHash32(data)), reference(data, ...P32, true));
      assert.equal(fnv1Hash64(data), reference(data, ...P64, false));
      assert.equal(fnv1aHash64(data), reference(data, ...P64, true));
      assert.equal(fnv1Hash128(data), reference(data, ...P128, false));
      assert.equal(fnv1aHash128(data), reference(data, ...P128, true));
    }),
  );
});

test('published values', () => {
  assert.equal(fnv1aHash32('foobar'), 0xbf9cf968);
  assert.equal(fnv1aHash64('foobar'), 0x85944171f73967e8n);
  assert.equal(fnv1aHash128Hex('foobar'), '343e1662793c64bf6f0d3597ba446f18');
  assert.equal(fnv1aHash128Hex(''), '6c62272e07bb014262b821756295c58d');
});

test('a string is hashed as UTF-8', () => {
  assert.equal(fnv1aHash64('héllo'), fnv1aHash64(new TextEncoder().encode('héllo')));
});
