import assert from 'node:assert/strict';
import test from 'node:test';
import { areaRows, textTable } from './areaTable.ts';
import { conformanceDoc } from './conformanceDoc.ts';
import type { SpecResult } from './results.ts';
import type { GoStatus, Spec } from './specs.ts';

const spec = (area: string, name: string, go: GoStatus = 'pass'): Spec => ({ area, name, go, seconds: 1 });
const result = (name: string, state: SpecResult['state'], message = ''): SpecResult => ({ name, state, message, seconds: 2 });

test('a spec that failed, was skipped against Go, or did not run is a fault', () => {
  const wanted = [spec('a', '1'), spec('a', '2'), spec('a', '3'), spec('a', '4'), spec('a', '5', 'skip'), spec('b', '6')];
  const rows = areaRows(wanted, [
    result('1', 'passed'),
    result('2', 'failed', '\nno pod\nmore'),
    result('3', 'skipped', 'not here'),
    result('5', 'skipped', 'nor there'),
    result('6', 'passed'),
    result('unasked', 'failed'),
  ]);
  assert.deepEqual(
    rows.map(({ area, passed, failed, skipped, missing, go }) => [area, passed, failed, skipped, missing, go]),
    [
      ['a', 1, 1, 2, 1, 4],
      ['b', 1, 0, 0, 0, 1],
    ],
  );
  assert.deepEqual(rows[0]?.faults, ['2: no pod', '3: skipped, not here', '4: did not run']);
  assert.match(textTable(rows), /^all +6 +2 +1 +2 +1 +5$/m);
});

test('the document keeps the rows and faults of areas that did not run', () => {
  const first = conformanceDoc(
    '',
    areaRows([spec('a', '1'), spec('b', '2')], [result('1', 'failed', 'x'), result('2', 'failed', 'y')]),
    'then',
  );
  assert.match(first, /^\| a \| 1 \| 0 \| 1 \| 0 \| 0 \| 1 \| then \|$/m);
  assert.match(first, /^- a: 1: x\n- b: 2: y$/m);
  assert.match(first, /^Not explained: a, b\.$/m);
  const second = conformanceDoc(first, areaRows([spec('a', '1')], [result('1', 'passed')]), 'now');
  assert.match(second, /^\| a \| 1 \| 1 \| 0 \| 0 \| 0 \| 1 \| now \|\n\| b \| 1 \| 0 \| 1 \| 0 \| 0 \| 1 \| then \|$/m);
  assert.doesNotMatch(second, /- a:/);
  assert.match(second, /- b: 2: y/);
  assert.equal(conformanceDoc(second, [], 'later'), second);
});

test('the document tells what faults come from', () => {
  const text = conformanceDoc('', areaRows([spec('podresources', '1')], [result('1', 'failed', 'no socket')]), 'now');
  assert.match(text, /^Not built yet: .*PodResources API \(podresources\)\.$/m);
  assert.doesNotMatch(text, /Not explained/);
});
