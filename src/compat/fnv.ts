/**
 * The Fowler-Noll-Vo hashes as Go's hash/fnv gives them. State is kept in words so small that their products are exact, so that
 * hashing a large pod dump makes no bigint per byte.
 */

const encoder = new TextEncoder();
const WORD = 0x1_0000_0000;

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? encoder.encode(data) : data;
}

/** FNV-1 32 bit of the bytes (a string counts as its UTF-8), as an unsigned number. */
export function fnv1Hash32(data: string | Uint8Array): number {
  let h = 0x811c9dc5;
  for (const byte of bytesOf(data)) h = Math.imul(h, 0x01000193) ^ byte;
  return h >>> 0;
}

/** FNV-1a 32 bit of the bytes (a string counts as its UTF-8), as an unsigned number. */
export function fnv1aHash32(data: string | Uint8Array): number {
  let h = 0x811c9dc5;
  for (const byte of bytesOf(data)) h = Math.imul(h ^ byte, 0x01000193);
  return h >>> 0;
}

function hash64(data: Uint8Array, xorFirst: boolean): bigint {
  let low = 0x84222325;
  let high = 0xcbf29ce4;
  for (const byte of data) {
    if (xorFirst) low = (low ^ byte) >>> 0;
    // The prime is 2^40 + 0x1b3.
    const product = low * 0x1b3;
    high = (high * 0x1b3 + Math.floor(product / WORD) + ((low << 8) >>> 0)) % WORD;
    low = product % WORD;
    if (!xorFirst) low = ((low | 0) ^ byte) >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

/** FNV-1 64 bit of the bytes (a string counts as its UTF-8). */
export function fnv1Hash64(data: string | Uint8Array): bigint {
  return hash64(bytesOf(data), false);
}

/** FNV-1a 64 bit of the bytes (a string counts as its UTF-8). */
export function fnv1aHash64(data: string | Uint8Array): bigint {
  return hash64(bytesOf(data), true);
}

/** In eight words of 16 bits, lowest first: small integers all the way, since a pod's dump is hashed byte by byte. */
function hash128(data: Uint8Array, xorFirst: boolean): bigint {
  let [w0, w1, w2, w3, w4, w5, w6, w7] = [0xc58d, 0x6295, 0x2175, 0x62b8, 0x0142, 0x07bb, 0x272e, 0x6c62];
  for (const byte of data) {
    if (xorFirst) w0 ^= byte;
    // The prime is 2^88 + 0x13b: each word moves up by five words and 8 bits, too.
    const p0 = w0 * 0x13b;
    const p1 = w1 * 0x13b + (p0 >>> 16);
    const p2 = w2 * 0x13b + (p1 >>> 16);
    const p3 = w3 * 0x13b + (p2 >>> 16);
    const p4 = w4 * 0x13b + (p3 >>> 16);
    const p5 = w5 * 0x13b + (p4 >>> 16) + ((w0 << 8) & 0xffff);
    const p6 = w6 * 0x13b + (p5 >>> 16) + ((w1 << 8) & 0xffff) + (w0 >>> 8);
    const p7 = w7 * 0x13b + (p6 >>> 16) + ((w2 << 8) & 0xffff) + (w1 >>> 8);
    w0 = p0 & 0xffff;
    w1 = p1 & 0xffff;
    w2 = p2 & 0xffff;
    w3 = p3 & 0xffff;
    w4 = p4 & 0xffff;
    w5 = p5 & 0xffff;
    w6 = p6 & 0xffff;
    w7 = p7 & 0xffff;
    if (!xorFirst) w0 ^= byte;
  }
  return [w7, w6, w5, w4, w3, w2, w1, w0].reduce((sum, word) => (sum << 16n) | BigInt(word), 0n);
}

/** FNV-1 128 bit of the bytes (a string counts as its UTF-8). */
export function fnv1Hash128(data: string | Uint8Array): bigint {
  return hash128(bytesOf(data), false);
}

/** FNV-1a 128 bit of the bytes (a string counts as its UTF-8). */
export function fnv1aHash128(data: string | Uint8Array): bigint {
  return hash128(bytesOf(data), true);
}

/** FNV-1a 128 bit as the 32 lower-case hex digits of Go's `hex.EncodeToString(h.Sum(nil))`. */
export function fnv1aHash128Hex(data: string | Uint8Array): string {
  return hash128(bytesOf(data), true).toString(16).padStart(32, '0');
}
