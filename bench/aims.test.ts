import assert from 'node:assert/strict';
import test from 'node:test';
import { apiAims, verdicts } from './aims.ts';
import type { Figures } from './figures.ts';

const figures = (ready50: number, startCpu = 1): Figures[] => [{ ready50, readyLast: ready50, stop: 1, startCpu }];
const judge = (own: number, other: number, floors: number[]) =>
  verdicts(
    new Map([
      ['own', figures(own)],
      ['other', figures(other, 0.5)],
      ...floors.map((f, i) => [`bare ${i}`, figures(f, 0.1)] as [string, Figures[]]),
    ]),
    'own',
    'other',
    apiAims(1),
  );

test('an aim is met by its ratio, or at 1.2 of the best floor', () => {
  assert.match(judge(0.4, 1, [0.1])[0] ?? '', /0\.40 of the other, aim 0\.4, 4\.00 of the floor: met$/);
  assert.match(judge(0.6, 1, [0.7, 0.5])[0] ?? '', /: met, met at 1\.2 of the floor 0\.50$/);
  assert.match(judge(0.61, 1, [0.5])[0] ?? '', /: missed$/);
  assert.match(judge(0.6, 1, [])[0] ?? '', /: missed$/);
});

test('the CPU time of the bench itself is no floor', () => {
  assert.match(judge(0.1, 1, [10])[1] ?? '', /CPU to start \(s\): 2\.00 of the other, aim 1: missed$/);
});

test('a figure that was not measured is never met', () => {
  assert.match(verdicts(new Map([['own', figures(1)]]), 'own', 'other', { ready50: 1 })[0] ?? '', /not measured/);
});

test('aims by number of pods', () => {
  assert.equal(apiAims(1).readyLast, undefined);
  assert.equal(apiAims(20).readyLast, 0.6);
  assert.deepEqual(apiAims(100), { ready50: 0.45, readyLast: 0.65, stop: 0.6, idleCpu: 0.5, rss: 1, startCpu: 1 });
});
