import assert from 'node:assert/strict';
import test from 'node:test';
import { constants, inflateSync } from 'node:zlib';
import { dataHead, pingFrame, type SpdyFrame, SpdyHeaderBlocks, SpdyReader, synReply, synStream } from './spdy-frames.ts';
import {
  acceptKey,
  clientFrame,
  frameHead,
  handshakeFault,
  isWebSocket,
  opcodes,
  type WebSocketPiece,
  WebSocketReader,
} from './websocket-frames.ts';

/** The frames that come out when the bytes come in pieces of `size`; pieces of one data frame are joined. */
function spdy(bytes: Buffer, size: number): SpdyFrame[] {
  const reader = new SpdyReader();
  const frames: SpdyFrame[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const frame of reader.read(bytes.subarray(at, at + size))) {
      const last = frames.at(-1);
      if (frame.type === 'data' && last?.type === 'data' && last.streamId === frame.streamId && !last.fin) {
        frames[frames.length - 1] = { ...frame, data: Buffer.concat([last.data, frame.data]) };
      } else frames.push(frame);
    }
  }
  return frames;
}

test('SPDY: frames are the same however the bytes are cut', () => {
  const blocks = new SpdyHeaderBlocks();
  const bytes = Buffer.concat([
    synStream(1, blocks.write([['streamtype', 'stdin']])),
    synReply(1, Buffer.from('anything')),
    dataHead(1, 300),
    Buffer.alloc(300, 'x'),
    dataHead(3, 0, true),
    pingFrame(2),
    Buffer.from('80030003000000080000000300000005', 'hex'), // RST_STREAM of 3, cancel
    Buffer.from('8003000700000008000000050000000000'.slice(0, 32), 'hex'), // GOAWAY
    Buffer.from('800300090000000800000001000000ff', 'hex'), // WINDOW_UPDATE
  ]);
  const whole = spdy(bytes, bytes.length);
  assert.deepEqual(
    whole.map((f) => f.type),
    ['synStream', 'synReply', 'data', 'data', 'ping', 'reset', 'goaway', 'other'],
  );
  assert.deepEqual(whole[2], { type: 'data', streamId: 1, fin: false, data: Buffer.alloc(300, 'x') });
  assert.deepEqual(whole[3], { type: 'data', streamId: 3, fin: true, data: Buffer.alloc(0) });
  assert.deepEqual(whole[5], { type: 'reset', streamId: 3, status: 5 });
  for (const size of [1, 2, 3, 7, 13, 64]) assert.deepEqual(spdy(bytes, size), whole, `pieces of ${size}`);
});

test('SPDY: what breaks the protocol is refused', () => {
  assert.throws(() => spdy(Buffer.from('8002000100000000', 'hex'), 8), /version/);
  assert.throws(() => spdy(Buffer.from('80030001ffffffff', 'hex'), 8), /too long/);
  assert.throws(() => spdy(Buffer.from('8003000300000001aa', 'hex'), 9), /too short/);
});

test('SPDY: header blocks are one zlib stream that any inflater reads', () => {
  const blocks = new SpdyHeaderBlocks();
  const all = Buffer.concat([
    blocks.write([['streamtype', 'error']]),
    blocks.write([
      ['port', '80'],
      ['requestid', '7'],
    ]),
  ]);
  const text = inflateSync(all, { finishFlush: constants.Z_SYNC_FLUSH });
  const expected = '\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05error\0\0\0\x02\0\0\0\x04port\0\0\0\x0280\0\0\0\x09requestid\0\0\0\x017';
  assert.equal(text.toString('latin1'), expected);
});

function pieces(bytes: Buffer, size: number, from: 'client' | 'server' = 'client'): WebSocketPiece[] {
  const reader = new WebSocketReader(from);
  const out: WebSocketPiece[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(...reader.read(bytes.subarray(at, at + size)));
  return out;
}

const text = (all: WebSocketPiece[]) => Buffer.concat(all.flatMap((p) => (p.type === 'message' ? [p.data] : []))).toString();

test('WebSocket: messages of every length, in pieces of every size', () => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536, 70_000]) {
    const data = Buffer.alloc(length, 'abc');
    for (const size of length > 200 ? [1_000, 100_000] : [1, 3, 500]) {
      const got = pieces(clientFrame(opcodes.binary, data), size);
      assert.equal(text(got), data.toString());
      const marks = got.map((p) => p.type === 'message' && [p.first, p.last]);
      assert.deepEqual(marks.at(0)?.[0 as never], true);
      assert.equal(marks.filter((m) => m !== false && m[1]).length, 1);
    }
  }
});

test('WebSocket: a message in parts with a ping in between', () => {
  const first = clientFrame(opcodes.binary, Buffer.from('one '));
  first[0] = opcodes.binary;
  const got = pieces(
    Buffer.concat([first, clientFrame(opcodes.ping, Buffer.from('p')), clientFrame(opcodes.continuation, Buffer.from('two'))]),
    1,
  );
  assert.equal(text(got), 'one two');
  assert.deepEqual(
    got.find((p) => p.type === 'ping'),
    { type: 'ping', data: Buffer.from('p') },
  );
  const close = pieces(clientFrame(opcodes.close, Buffer.from([3, 233])), 2);
  assert.deepEqual(close, [{ type: 'close', code: 1001 }]);
});

test('WebSocket: what RFC 6455 forbids is refused', () => {
  const bad: [string, Buffer][] = [
    ['no mask', Buffer.concat([frameHead(opcodes.binary, 1), Buffer.from('x')])],
    ['reserved bit', Buffer.from([0xc2, 0x80, 0, 0, 0, 0])],
    ['continuation of nothing', clientFrame(opcodes.continuation, Buffer.from('x'))],
    ['unknown kind', clientFrame(5, Buffer.from('x'))],
    ['unknown control', clientFrame(12, Buffer.from('x'))],
    ['long control', clientFrame(opcodes.ping, Buffer.alloc(126))],
    ['length beyond 2^53', Buffer.from('82ffffffffffffffffff00000000', 'hex')],
  ];
  for (const [what, bytes] of bad) assert.throws(() => pieces(bytes, bytes.length), what);
  assert.throws(() => pieces(clientFrame(opcodes.binary, Buffer.from('x')), 20, 'server'), /mask/);
});

test('WebSocket: the handshake', () => {
  // RFC 6455 §1.3.
  assert.equal(acceptKey('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  const good = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  assert.equal(handshakeFault(good), undefined);
  assert.match(handshakeFault({ ...good, 'sec-websocket-version': '8' }) ?? '', /version/);
  assert.match(handshakeFault({ ...good, 'sec-websocket-key': 'short' }) ?? '', /key/);
  assert.equal(isWebSocket({ connection: 'keep-alive, Upgrade', upgrade: 'WebSocket' }), true);
  assert.equal(isWebSocket({ connection: 'Upgrade', upgrade: 'SPDY/3.1' }), false);
});
