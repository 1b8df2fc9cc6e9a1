import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** WebSocket (RFC 6455): the handshake and the frames, with no extensions. */

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export function acceptKey(key: string): string {
  return createHash('sha1')
    .update(key + GUID)
    .digest('base64');
}

/** Why a request is no WebSocket handshake that we can take; undefined when it is one. */
export function handshakeFault(headers: IncomingHttpHeaders): string | undefined {
  if (headers['sec-websocket-version'] !== '13') return 'the WebSocket version is not 13';
  const key = headers['sec-websocket-key'];
  if (typeof key !== 'string' || Buffer.from(key, 'base64').length !== 16) return 'the WebSocket key is not valid';
  return undefined;
}

export function isWebSocket(headers: IncomingHttpHeaders): boolean {
  return tokens(headers.connection).includes('upgrade') && tokens(headers.upgrade).includes('websocket');
}

/** The subprotocols that the client offers, in its order. */
export function subprotocols(headers: IncomingHttpHeaders): string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((p) => p.trim())
    .filter((p) => p !== '');
}

function tokens(header: string | undefined): string[] {
  return (header ?? '').split(',').map((t) => t.trim().toLowerCase());
}

/** A piece of a message, or a control frame. `first` and `last` mark the ends of a message. */
export type WebSocketPiece =
  | { type: 'message'; opcode: number; first: boolean; last: boolean; data: Buffer }
  | { type: 'close'; code: number }
  | { type: 'ping' | 'pong'; data: Buffer };

/**
 * Reads frames from bytes in any pieces; a message comes out as it comes in. Throws on what RFC 6455 forbids. A server's
 * reader asks for masked frames, a client's for unmasked ones.
 */
export class WebSocketReader {
  readonly #masked: boolean;
  #held = Buffer.alloc(0);
  #frame: { left: number; mask: Buffer | undefined; at: number; last: boolean } | undefined;
  #opcode: number | undefined;
  #first = false;

  constructor(from: 'client' | 'server' = 'client') {
    this.#masked = from === 'client';
  }

  *read(chunk: Buffer): Generator<WebSocketPiece, void> {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const frame = this.#frame;
      if (frame !== undefined) {
        if (rest.length === 0 && frame.left > 0) break;
        const data = unmask(rest.subarray(0, frame.left), frame.mask, frame.at);
        rest = rest.subarray(data.length);
        frame.left -= data.length;
        frame.at += data.length;
        const ended = frame.left === 0;
        if (ended) this.#frame = undefined;
        const opcode = this.#opcode ?? opcodes.binary;
        const last = ended && frame.last;
        const first = this.#first;
        this.#first = false;
        if (last) this.#opcode = undefined;
        yield { type: 'message', opcode, first, last, data };
        continue;
      }
      const head = this.#head(rest);
      if (head === undefined) break;
      const { opcode, fin, length, mask, size } = head;
      if (opcode < 8) {
        rest = rest.subarray(size);
        this.#begin(opcode, fin, length, mask);
        continue;
      }
      if (!fin || length > 125) throw new Error('WebSocket control frame is not valid');
      if (rest.length < size + length) break;
      const data = unmask(rest.subarray(size, size + length), mask, 0);
      rest = rest.subarray(size + length);
      if (opcode === opcodes.close) yield { type: 'close', code: data.length >= 2 ? data.readUInt16BE(0) : 1005 };
      else if (opcode === opcodes.ping || opcode === opcodes.pong) yield { type: opcode === opcodes.ping ? 'ping' : 'pong', data };
      else throw new Error('WebSocket frame of an unknown kind');
    }
    this.#held = Buffer.from(rest);
  }

  #begin(opcode: number, fin: boolean, length: number, mask: Buffer | undefined): void {
    if (opcode === opcodes.continuation) {
      if (this.#opcode === undefined) throw new Error('WebSocket continuation without a message');
    } else if (opcode > 2) throw new Error('WebSocket frame of an unknown kind');
    else if (this.#opcode !== undefined) throw new Error('WebSocket message within a message');
    else {
      this.#opcode = opcode;
      this.#first = true;
    }
    this.#frame = { left: length, mask, at: 0, last: fin };
  }

  #head(bytes: Buffer): { opcode: number; fin: boolean; length: number; mask: Buffer | undefined; size: number } | undefined {
    if (bytes.length < 2) return undefined;
    const [a = 0, b = 0] = bytes;
    if ((a & 0x70) !== 0) throw new Error('WebSocket extension that was not agreed on');
    if (b >= 0x80 !== this.#masked) throw new Error(this.#masked ? 'WebSocket frame without mask' : 'WebSocket frame with a mask');
    const short = b & 0x7f;
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const size = 2 + lengthBytes + (this.#masked ? 4 : 0);
    if (bytes.length < size) return undefined;
    const length = lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (!Number.isSafeInteger(length)) throw new Error('WebSocket frame is too long');
    const mask = this.#masked ? Buffer.from(bytes.subarray(size - 4, size)) : undefined;
    return { opcode: a & 0x0f, fin: a >= 0x80, length, mask, size };
  }
}

/** A copy of `data` with the mask applied, four bytes at a time; `at`: where in the frame it begins. */
function unmask(data: Buffer, mask: Buffer | undefined, at: number): Buffer {
  if (mask === undefined) return data;
  const out = new Uint8Array(data);
  const turned = Uint8Array.from({ length: 4 }, (_, i) => mask[(at + i) & 3] ?? 0);
  const words = new Uint32Array(out.buffer, 0, out.length >>> 2);
  const word = new Uint32Array(turned.buffer)[0] ?? 0;
  for (let i = 0; i < words.length; i++) words[i] = (words[i] ?? 0) ^ word;
  for (let i = words.length << 2; i < out.length; i++) out[i] = (out[i] ?? 0) ^ (turned[i & 3] ?? 0);
  return Buffer.from(out.buffer);
}

/** The head of one whole frame of `length` bytes, as a server sends it; the bytes follow. */
export function frameHead(opcode: number, length: number, mask?: Buffer): Buffer {
  const flag = mask === undefined ? 0 : 0x80;
  const first = 0x80 | opcode;
  let head: Buffer;
  if (length < 126) head = Buffer.from([first, flag | length]);
  else if (length < 0x10000) head = Buffer.from([first, flag | 126, length >>> 8, length & 0xff]);
  else {
    head = Buffer.alloc(10);
    head[0] = first;
    head[1] = flag | 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return mask === undefined ? head : Buffer.concat([head, mask]);
}

export function closeFrame(code: number): Buffer {
  return Buffer.concat([frameHead(opcodes.close, 2), Buffer.from([code >>> 8, code & 0xff])]);
}

/** A whole masked frame, as a client sends it. */
export function clientFrame(opcode: number, data: Buffer): Buffer {
  const mask = randomBytes(4);
  return Buffer.concat([frameHead(opcode, data.length, mask), unmask(data, mask, 0)]);
}
