import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Quantity } from '../api/quantity.ts';
import { parsePercentage, parseThresholds, ThresholdError, thresholdQuantity, withContainerFs } from './thresholds.ts';

const config = { allocatable: [], hard: {}, soft: {}, softGrace: {}, minReclaim: {} };

describe('parseThresholds', () => {
  for (const [field, more] of [
    ['evictionHard[memory.available]', { hard: { 'memory.available': '-1' } }],
    ['evictionHard[memory.available]', { hard: { 'memory.available': '101%' } }],
    ['evictionHard[__proto__]', { hard: JSON.parse('{"__proto__":"1"}') as Record<string, string> }],
    ['evictionSoft[pid.available]', { soft: { 'pid.available': '5%' } }],
    ['evictionSoftGracePeriod[pid.available]', { softGrace: { 'pid.available': '-1s' } }],
    ['evictionMinimumReclaim[pid.available]', { minReclaim: { 'pid.available': '0%' } }],
  ] as const) {
    it(`names ${field} for ${JSON.stringify(more)}`, () => {
      assert.throws(
        () => parseThresholds({ ...config, ...more }),
        (err) => err instanceof ThresholdError && err.field === field,
      );
    });
  }
});

describe('thresholdQuantity', () => {
  it('is the amount, or the part of the capacity', () => {
    const capacity = Quantity.parse('1000Mi');
    assert.equal(thresholdQuantity({ quantity: Quantity.parse('5Mi') }, capacity).toString(), '5Mi');
    assert.equal(thresholdQuantity({ percentage: parsePercentage('50%') }, capacity).toString(), '500Mi');
  });
});

describe('withContainerFs', () => {
  it('names what it replaces, and does not change its input', () => {
    const thresholds = parseThresholds({ ...config, hard: { 'nodefs.available': '10%', 'containerfs.available': '1Gi' } });
    const before = structuredClone(thresholds.map(({ signal }) => signal));
    const got = withContainerFs(thresholds, { imageFs: false, separate: false });
    assert.deepEqual(got.ignored, ['containerfs.available']);
    const found = got.thresholds.find(({ signal, operator }) => signal === 'containerfs.available' && operator !== '');
    assert.deepEqual(found?.value, { percentage: parsePercentage('10%') });
    assert.deepEqual(
      thresholds.map(({ signal }) => signal),
      before,
    );
  });
});
