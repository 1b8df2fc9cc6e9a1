import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ProbeCounts, type ProbeLabels } from './metrics.ts';

const labels = (uid: string): ProbeLabels => ({ probe_type: 'Readiness', container: 'c', pod: 'p', namespace: 'n', pod_uid: uid });

it('probes are counted by result, successes timed, and a worker that is over leaves nothing', () => {
  const counts = new ProbeCounts();
  const [a, b] = [labels('a'), labels('b')];
  counts.probed(a, true, 0.003);
  counts.probed(a, true, 20);
  counts.probed(a, false, 3);
  counts.probed(b, true, 0.2);
  const text = counts.text();
  const own = 'probe_type="Readiness",container="c",pod="p",namespace="n"';
  for (const line of [
    `prober_probe_total{${own},pod_uid="a",result="successful"} 2`,
    `prober_probe_total{${own},pod_uid="a",result="failed"} 1`,
    `prober_probe_total{${own},pod_uid="b",result="successful"} 1`,
    `prober_probe_duration_seconds_bucket{${own},le="0.005"} 1`,
    `prober_probe_duration_seconds_bucket{${own},le="0.25"} 2`,
    `prober_probe_duration_seconds_bucket{${own},le="+Inf"} 3`,
    `prober_probe_duration_seconds_count{${own}} 3`,
    `prober_probe_duration_seconds_sum{${own}} 20.203`,
  ]) {
    assert.ok(text.split('\n').includes(line), `${line} in\n${text}`);
  }
  counts.removed(a);
  counts.removed(b);
  assert.deepEqual(
    counts
      .text()
      .split('\n')
      .filter((l) => !l.startsWith('#') && l !== ''),
    [],
  );
});

it('texts in labels cannot end them', () => {
  const counts = new ProbeCounts();
  counts.probed({ ...labels('u'), pod: 'a"\\\n' }, false, 0);
  assert.match(counts.text(), /pod="a\\"\\\\\\n",/);
});
