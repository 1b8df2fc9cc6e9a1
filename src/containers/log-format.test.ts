import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseCriLogLine, splitLines } from './log-format.ts';

const line = (text: string) => parseCriLogLine(Buffer.from(text));

test('a full and a partial line, with and without tags', () => {
  const parsed = line('2030-01-02T03:04:05.123456789Z stdout F hello  world ');
  assert.deepEqual(parsed && { ...parsed, text: parsed.text.toString() }, {
    timestamp: '2030-01-02T03:04:05.123456789Z',
    stream: 'stdout',
    partial: false,
    text: 'hello  world ',
  });
  const part = line('2030-01-02T03:04:05+01:00 stderr P:more:tags x');
  assert.deepEqual([part?.stream, part?.partial, part?.text.toString()], ['stderr', true, 'x']);
});

test('an empty text is a line too', () => {
  assert.equal(line('2030-01-02T03:04:05Z stdout F ')?.text.length, 0);
  assert.equal(line('2030-01-02T03:04:05Z stdout F')?.text.length, 0);
});

test('anything else is none', () => {
  for (const text of [
    '',
    'hello',
    '{"log":"x"}',
    '2030-01-02T03:04:05Z stdin F x',
    '2030-01-02T03:04:05Z stdout Q x',
    'yesterday-at-noon-or-so stdout F x',
  ]) {
    assert.equal(line(text), undefined, text);
  }
});

test('property: any bytes are read without an error, and splitting loses no byte', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const data = Buffer.from(bytes);
      parseCriLogLine(data);
      const lines = [...splitLines(data)];
      const joined = lines.map((l) => l.toString('latin1')).join('\n');
      const whole = data.toString('latin1');
      assert.equal(whole.endsWith('\n') ? `${joined}\n` : joined, whole);
    }),
  );
});
