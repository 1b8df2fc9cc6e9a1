/**
 * SPDY/3.1 frames (draft-mbelshe-httpbis-spdy-00), as far as the runtime's streaming server speaks them: we open streams,
 * both sides send data, nothing is pushed. Flow control is not used by that server.
 */

const VERSION = 3;
const SYN_STREAM = 1;
const SYN_REPLY = 2;
const RST_STREAM = 3;
const PING = 6;
const GOAWAY = 7;
const FLAG_FIN = 1;
const HEADER_BYTES = 8;
const MAX_FRAME_BYTES = (1 << 24) - 1;
/** Control frames are small; a longer one is an attack or nonsense. */
const MAX_CONTROL_BYTES = 1 << 20;

export type SpdyFrame =
  | { type: 'synStream'; streamId: number; fin: boolean; headers: Buffer }
  | { type: 'synReply'; streamId: number; fin: boolean }
  | { type: 'reset'; streamId: number; status: number }
  | { type: 'ping'; id: number }
  | { type: 'goaway'; lastStreamId: number }
  | { type: 'other'; control: number }
  /** A piece of a data frame; `fin` only on its last piece. */
  | { type: 'data'; streamId: number; fin: boolean; data: Buffer };

/**
 * Reads frames from bytes in any pieces. Data comes out as it comes in, so that no frame is held in memory. Throws on
 * what is not SPDY/3.
 */
export class SpdyReader {
  #held = Buffer.alloc(0);
  #data: { streamId: number; fin: boolean; left: number } | undefined;

  *read(chunk: Buffer): Generator<SpdyFrame, void> {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      if (this.#data !== undefined) {
        const { streamId, fin, left } = this.#data;
        if (rest.length === 0) break;
        const data = rest.subarray(0, left);
        rest = rest.subarray(data.length);
        this.#data.left -= data.length;
        const done = this.#data.left === 0;
        if (done) this.#data = undefined;
        yield { type: 'data', streamId, fin: fin && done, data };
        continue;
      }
      if (rest.length < HEADER_BYTES) break;
      const first = rest.readUInt32BE(0);
      const flags = rest.readUInt8(4);
      const length = rest.readUIntBE(5, 3);
      const fin = (flags & FLAG_FIN) !== 0;
      if (first < 0x80000000) {
        rest = rest.subarray(HEADER_BYTES);
        if (length === 0) yield { type: 'data', streamId: first, fin, data: Buffer.alloc(0) };
        else this.#data = { streamId: first, fin, left: length };
        continue;
      }
      if (((first >>> 16) & 0x7fff) !== VERSION) throw new Error('not SPDY/3: wrong version');
      if (length > MAX_CONTROL_BYTES) throw new Error('SPDY control frame is too long');
      if (rest.length < HEADER_BYTES + length) break;
      const body = rest.subarray(HEADER_BYTES, HEADER_BYTES + length);
      rest = rest.subarray(HEADER_BYTES + length);
      yield controlFrame(first & 0xffff, fin, body);
    }
    this.#held = Buffer.from(rest);
  }
}

function controlFrame(control: number, fin: boolean, body: Buffer): SpdyFrame {
  const needed = { [SYN_STREAM]: 10, [SYN_REPLY]: 4, [RST_STREAM]: 8, [PING]: 4, [GOAWAY]: 4 }[control] ?? 0;
  if (body.length < needed) throw new Error('SPDY control frame is too short');
  switch (control) {
    case SYN_STREAM:
      return { type: 'synStream', streamId: idAt(body, 0), fin, headers: Buffer.from(body.subarray(10)) };
    case SYN_REPLY:
      return { type: 'synReply', streamId: idAt(body, 0), fin };
    case RST_STREAM:
      return { type: 'reset', streamId: idAt(body, 0), status: body.readUInt32BE(4) };
    case PING:
      return { type: 'ping', id: body.readUInt32BE(0) };
    case GOAWAY:
      return { type: 'goaway', lastStreamId: idAt(body, 0) };
    default:
      return { type: 'other', control };
  }
}

const idAt = (body: Buffer, offset: number) => body.readUInt32BE(offset) & 0x7fffffff;

function control(type: number, flags: number, body: Buffer): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32BE((0x80000000 | (VERSION << 16) | type) >>> 0, 0);
  head.writeUInt32BE(((flags << 24) | body.length) >>> 0, 4);
  return Buffer.concat([head, body]);
}

/**
 * Header blocks of one connection, which share one compression stream. Ours are stored and not compressed: every inflater
 * reads that, and a handful of short headers is not worth a compressor.
 */
export class SpdyHeaderBlocks {
  #begun = false;

  write(headers: readonly (readonly [name: string, value: string])[]): Buffer {
    const parts = [uint32(headers.length)];
    for (const text of headers.flat()) {
      const bytes = Buffer.from(text, 'latin1');
      parts.push(uint32(bytes.length), bytes);
    }
    const block = Buffer.concat(parts);
    if (block.length > 0xffff) throw new Error('SPDY headers are too long');
    // zlib's header without a dictionary, then one stored block of deflate (RFC 1950, RFC 1951 §3.2.4).
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(block.length, 1);
    stored.writeUInt16LE(~block.length & 0xffff, 3);
    // An empty block flushes: Go's reader holds back what comes before one.
    const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);
    const begin = this.#begun ? Buffer.alloc(0) : Buffer.from([0x78, 0x01]);
    this.#begun = true;
    return Buffer.concat([begin, stored, block, flush]);
  }
}

function uint32(n: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n, 0);
  return bytes;
}

/** Opens a stream; `headers` from SpdyHeaderBlocks, names in lower case. */
export function synStream(streamId: number, headers: Buffer): Buffer {
  return control(SYN_STREAM, 0, Buffer.concat([uint32(streamId), uint32(0), Buffer.alloc(2), headers]));
}

export function synReply(streamId: number, headers: Buffer): Buffer {
  return control(SYN_REPLY, 0, Buffer.concat([uint32(streamId), headers]));
}

export function pingFrame(id: number): Buffer {
  return control(PING, 0, uint32(id));
}

/** The head of a data frame; the bytes follow. An empty one with `fin` ends this side of the stream. */
export function dataHead(streamId: number, length: number, fin = false): Buffer {
  if (length > MAX_FRAME_BYTES) throw new Error('SPDY data frame is too long');
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE((((fin ? FLAG_FIN : 0) << 24) | length) >>> 0, 4);
  return head;
}
