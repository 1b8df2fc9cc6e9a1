/**
 * The Fowler-Noll-Vo hashes as Go's hash/fnv gives them. State is kept in 32-bit words (exact in a double: a word times
 * the small part of a prime stays below 2^53), so that hashing a large pod dump makes no bigint per byte.
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

function hash128(data: Uint8Array, xorFirst: boolean): bigint {
  let w0 = 0x6295c58d;
  let w1 = 0x62b82175;
  let w2 = 0x07bb0142;
  let w3 = 0x6c62272e;
  for (const byte of data) {
    if (xorFirst) w0 = (w0 ^ byte) >>> 0;
    // The prime is 2^88 + 0x13b.
    const p0 = w0 * 0x13b;
    const p1 = w1 * 0x13b + Math.floor(p0 / WORD);
    const p2 = w2 * 0x13b + Math.floor(p1 / WORD) + ((w0 << 24) >>> 0);
    const p3 = w3 * 0x13b + Math.floor(p2 / WORD) + ((w1 << 24) >>> 0) + (w0 >>> 8);
    w0 = p0 % WORD;
    w1 = p1 % WORD;
    w2 = p2 % WORD;
    w3 = p3 % WORD;
    if (!xorFirst) w0 = (w0 ^ byte) >>> 0;
  }
  return (BigInt(w3) << 96n) | (BigInt(w2) << 64n) | (BigInt(w1) << 32n) | BigInt(w0);
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
