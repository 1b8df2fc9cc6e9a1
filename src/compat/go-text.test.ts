import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareGoStrings, goJsonString, goQuote } from './go-text.ts';

describe('goJsonString', () => {
  it('escapes what Go escapes', () => {
    assert.equal(goJsonString('<a href="x">&\u2028\n'), '"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\n"');
    assert.equal(goJsonString('\ud800'), '"\ufffd"');
  });
});

describe('goQuote', () => {
  it('keeps printable text and escapes the rest by size', () => {
    assert.equal(goQuote('é 😀 "q" \\'), '"é 😀 \\"q\\" \\\\"');
    assert.equal(goQuote('\x00\x1f\x7f\u00ad\u{e0001}'), '"\\x00\\x1f\\x7f\\u00ad\\U000e0001"');
    assert.equal(goQuote('\u00a0'), '"\\u00a0"');
  });
});

describe('compareGoStrings', () => {
  it('orders by bytes, where UTF-16 would not', () => {
    assert.deepEqual(['😀', '\uff5e', 'z', 'Z'].sort(compareGoStrings), ['Z', 'z', '\uff5e', '😀']);
  });
});
