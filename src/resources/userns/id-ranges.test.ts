import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { defaultIds, IdRanges, rangeFault } from './id-ranges.ts';

const Unit = 65_536;

describe('rangeFault', () => {
  it('takes the default ids for 110 pods, with blocks of any allowed size', () => {
    for (const size of [Unit, 2 * Unit, 16 * Unit]) assert.equal(rangeFault(defaultIds(size), size, 110), undefined);
  });

  it('says what is wrong with ids', () => {
    const fault = (first: number, length: number, perPod = Unit, maxPods = 1) => rangeFault({ first, length }, perPod, maxPods) ?? '';
    assert.match(fault(Unit, Unit, 70_000), /idsPerPod 70000 is not a multiple of 65536/);
    assert.match(fault(Unit + 1, Unit), /first id 65537 is not a multiple/);
    assert.match(fault(0, 10 * Unit), /first id 0 must be 65536 or more/);
    assert.match(fault(Unit, Unit + 5), /number of ids 65541 is not a multiple/);
    assert.match(fault(Unit, 9 * Unit, Unit, 10), /9 blocks of 65536, not enough for 10 pods/);
  });
});

describe('IdRanges', () => {
  it('gives the lowest free block, and one that was given back again', () => {
    const ranges = new IdRanges({ first: 2 * Unit, length: 3 * Unit }, Unit);
    assert.deepEqual(ranges.take('a'), { first: 2 * Unit, length: Unit });
    assert.deepEqual(ranges.take('b'), { first: 3 * Unit, length: Unit });
    ranges.release('a');
    assert.deepEqual(ranges.take('c'), { first: 2 * Unit, length: Unit });
    ranges.take('d');
    assert.throws(() => ranges.take('e'), /all 3 blocks/);
    assert.throws(() => ranges.take('b'), /already/);
  });

  it('refuses a block that cannot be the pod’s', () => {
    const ranges = new IdRanges({ first: Unit, length: 4 * Unit }, Unit);
    ranges.claim('a', { first: 2 * Unit, length: Unit });
    ranges.claim('a', { first: 2 * Unit, length: Unit });
    assert.throws(() => ranges.claim('a', { first: Unit, length: Unit }), /different range/);
    assert.throws(() => ranges.claim('b', { first: 2 * Unit, length: Unit }), /taken by another pod/);
    assert.throws(() => ranges.claim('b', { first: Unit, length: 5 }), /length 5/);
    assert.throws(() => ranges.claim('b', { first: Unit + 1, length: Unit }), /offset/);
    for (const first of [0, 5 * Unit]) assert.throws(() => ranges.claim('b', { first, length: Unit }), /out of range/);
    assert.deepEqual(ranges.take('b'), { first: Unit, length: Unit });
  });

  it('never gives one id to two pods, nor one of the host', () => {
    const step = fc.record({ pod: fc.constantFrom('a', 'b', 'c', 'd', 'e'), give: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ranges = new IdRanges({ first: Unit, length: 4 * Unit }, Unit);
        for (const { pod, give } of steps) {
          if (!give) ranges.release(pod);
          else if (ranges.of(pod) === undefined && ranges.holders().length < 4) ranges.take(pod);
          const firsts = ranges.holders().map((uid) => ranges.of(uid)?.first ?? 0);
          assert.equal(new Set(firsts).size, firsts.length);
          assert.ok(firsts.every((first) => first >= Unit && first <= 4 * Unit && first % Unit === 0));
        }
      }),
    );
  });
});
