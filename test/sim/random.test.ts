import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimRandom } from './random.ts';

const draw = (r: SimRandom) => Array.from({ length: 20 }, () => r.float());

test('a seed repeats, another differs, and all numbers lie in [0, 1)', () => {
  assert.deepEqual(draw(new SimRandom(7)), draw(new SimRandom(7)));
  assert.notDeepEqual(draw(new SimRandom(7)), draw(new SimRandom(8)));
  const r = new SimRandom(1);
  let sum = 0;
  for (let i = 0; i < 10_000; i++) {
    const x = r.float();
    assert.ok(x >= 0 && x < 1);
    sum += x;
  }
  assert.ok(Math.abs(sum / 10_000 - 0.5) < 0.02, `mean ${sum / 10_000}`);
});

test('a fork does not depend on what was drawn before it', () => {
  const a = new SimRandom(3);
  const b = new SimRandom(3);
  b.float();
  assert.deepEqual(draw(a.fork('x')), draw(b.fork('x')));
  assert.notDeepEqual(draw(a.fork('x')), draw(a.fork('y')));
});

test('helpers keep their ranges', () => {
  const r = new SimRandom(5);
  const seen = new Set<number>();
  for (let i = 0; i < 200; i++) seen.add(r.int(2, 5));
  assert.deepEqual([...seen].sort(), [2, 3, 4, 5]);
  assert.match(r.hex(8), /^[0-9a-f]{16}$/);
  assert.throws(() => r.pick([]), RangeError);
});
