import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { CpuSet, CpuSetError } from './cpuset.ts';

const cpus = fc.array(fc.nat(300), { maxLength: 40 });

test('the text of a set reads back as the same set', () => {
  fc.assert(
    fc.property(cpus, (list) => {
      const set = CpuSet.of(list);
      assert.deepEqual([...CpuSet.parse(set.toString())], [...set]);
      assert.deepEqual(
        [...set],
        [...new Set(list)].sort((a, b) => a - b),
      );
    }),
  );
});

test('union, intersection and difference are those of sets', () => {
  fc.assert(
    fc.property(cpus, cpus, (a, b) => {
      const [x, y] = [CpuSet.of(a), CpuSet.of(b)];
      assert.ok(x.union(y).equals(CpuSet.of([...a, ...b])));
      assert.ok(x.intersection(y).union(x.difference(y)).equals(x));
      assert.ok(x.difference(y).intersection(y).isEmpty);
      assert.ok(x.isSubsetOf(x.union(y)));
    }),
  );
});

test('a text that is no list of CPUs is refused with its fault', () => {
  for (const text of ['1,', 'a', '2-1', '-1', '1--2', ' 1', '0-99999999']) assert.throws(() => CpuSet.parse(text), CpuSetError, text);
  assert.throws(() => CpuSet.parse('0,3-1'), /"0,3-1" is no list of CPUs: it has the range 3-1, whose end is before its start/);
});
