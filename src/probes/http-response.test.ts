import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BadResponse, ResponseReader } from './http-response.ts';

/** Reads `text` in pieces of `size` bytes; closes at the end unless the reader had enough. */
function read(text: string, size = 1e9, limit = 100): ResponseReader {
  const reader = new ResponseReader(limit);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length && !reader.done; at += size) reader.push(bytes.subarray(at, at + size));
  if (!reader.done) reader.end();
  return reader;
}

const answers: [name: string, text: string, status: number, body: string][] = [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc', 200, 'abc'],
  ['no reason', 'HTTP/1.1 204\r\n\r\n', 204, ''],
  ['until close', 'HTTP/1.0 200 OK\r\n\r\nabc', 200, 'abc'],
  ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: 1\r\n\r\n', 200, 'abc'],
  ['bare line feeds', 'HTTP/1.1 404 Not Found\nContent-Length: 1\n\nx', 404, 'x'],
  ['an interim answer', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx', 200, 'x'],
  ['not modified has no body', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 304, ''],
];

describe('the answer of a server', () => {
  for (const [name, text, status, body] of answers) {
    it(`is read whole and byte by byte: ${name}`, () => {
      for (const size of [1e9, 1, 3]) {
        const reader = read(text, size);
        assert.deepEqual([reader.status, reader.body], [status, body]);
      }
    });
  }

  it('keeps the beginning of a long body, and wants no more of it', () => {
    for (const head of ['Content-Length: 1000', 'X: y', 'Transfer-Encoding: chunked']) {
      const body = head.startsWith('T') ? `3e8\r\n${'x'.repeat(1000)}\r\n0\r\n\r\n` : 'x'.repeat(1000);
      const reader = new ResponseReader(100);
      reader.push(Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`));
      assert.deepEqual([reader.done, reader.body], [true, 'x'.repeat(100)]);
    }
  });

  it('reads a body of exactly the limit to its end', () => {
    assert.equal(read(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(100)}`).body.length, 100);
  });

  const bad: [name: string, text: string][] = [
    ['nothing', ''],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['a status of letters', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['half a head', 'HTTP/1.1 200 OK\r\nA: b\r\n'],
    ['less than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc'],
    ['a length of letters', 'HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nabc'],
    ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc'],
    ['a chunk of letters', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a chunk that is too long', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n'],
    ['chunks without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
    ['a head without an end', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(50_000)}`],
    ['interim answers without an end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(10)],
  ];
  for (const [name, text] of bad) {
    it(`is refused: ${name}`, () => {
      assert.throws(() => read(text), BadResponse);
      if (text.length < 10_000) assert.throws(() => read(text, 1), BadResponse);
    });
  }
});
