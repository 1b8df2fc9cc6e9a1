import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cleanPayload } from './payload.ts';

const file = { data: new Uint8Array(), mode: 0o644 };
const clean = (...paths: string[]) => [...cleanPayload(new Map(paths.map((path) => [path, file]))).keys()];

describe('cleanPayload', () => {
  it('cleans paths and keeps odd names', () => {
    assert.deepEqual(clean('a', './b//c/', '.hidden', '__proto__', 'x/..data', '.dot'), [
      'a',
      'b/c',
      '.hidden',
      '__proto__',
      'x/..data',
      '.dot',
    ]);
    assert.deepEqual(clean('x'.repeat(255)), ['x'.repeat(255)]);
  });

  it('refuses what leads out, belongs to the writer or fits in no name', () => {
    for (const [path, text] of [
      ['', /empty/],
      ['/etc/passwd', /relative/],
      ['../x', /must not contain '\.\.'/],
      ['a/../../x', /must not contain '\.\.'/],
      ['..', /must not contain '\.\.'/],
      ['..data', /must not start with '\.\.'/],
      ['./..data', /must not start with '\.\.'/],
      ['...', /must not start with '\.\.'/],
      ['.', /names no file/],
      ['a\0b', /NUL/],
      ['x'.repeat(300), /at most 255 bytes/],
      ['é'.repeat(128), /at most 255 bytes/],
      ['x/'.repeat(2100), /at most 4096 bytes/],
    ] as const) {
      assert.throws(() => clean(path), text, JSON.stringify(path.slice(0, 20)));
    }
  });

  it('refuses a path that would be a file and a directory', () => {
    assert.throws(() => clean('a/b', 'a'), /"a" would be a file and a directory/);
    assert.throws(() => clean('a/b/c', './a/b'), /"a\/b" would be/);
  });
});
