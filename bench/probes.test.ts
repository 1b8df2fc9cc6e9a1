import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ProbeFigures, probesTable, probeVerdicts } from './probes.ts';

const figures = (cpu: number, p99?: number): ProbeFigures => ({
  rate: 1000,
  cpu,
  rss: 80,
  ...(p99 === undefined ? {} : { delay: { p50: 0.1, p99, max: 30 } }),
});

it('the verdicts are of the medians: CPU against the other, the event loop against its limit', () => {
  const own = [figures(20, 5), figures(90, 60), figures(25, 12)];
  assert.deepEqual(probeVerdicts(own, [figures(25), figures(10), figures(50)]), [
    '- CPU: 1.00 of the other, aim 1: met',
    '- event loop p99: 12.0 ms, aim 20: met',
  ]);
  assert.deepEqual(probeVerdicts([figures(30, 21)], [figures(20)]), [
    '- CPU: 1.50 of the other, aim 1: missed',
    '- event loop p99: 21.0 ms, aim 20: missed',
  ]);
  assert.deepEqual(probeVerdicts([figures(30, 1)], []), ['- event loop p99: 1.0 ms, aim 20: met']);
});

it('a kubelet without an event loop has no delays in the table', () => {
  const rows = probesTable(
    new Map([
      ['ours', [figures(20, 5)]],
      ['theirs', [figures(21)]],
    ]),
  ).split('\n');
  assert.equal(rows[2], '| ours | 1000 | 20.0 | 80 | 0.1 / 5.0 / 30.0 |');
  assert.equal(rows[3], '| theirs | 1000 | 21.0 | 80 |  |');
});
