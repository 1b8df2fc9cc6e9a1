import assert from 'node:assert/strict';
import test from 'node:test';
import { takesOpenMetrics, toOpenMetrics } from './open-metrics.ts';

test('counters, times and bounds as OpenMetrics has them', () => {
  const text = `# HELP a_total A
# TYPE a_total counter
a_total{l="x y"} 1 1700000000123
# HELP evictions E
# TYPE evictions counter
evictions 2
# HELP g G
# TYPE g gauge
g 3
# HELP h H
# TYPE h histogram
h_bucket{le="1"} 1
h_bucket{le="0.5",x="le"} 1
h_bucket{le="+Inf"} 1
h_sum 1
h_count 1
`;
  assert.equal(
    toOpenMetrics(text),
    `# HELP a A
# TYPE a counter
a_total{l="x y"} 1 1700000000.123
# HELP evictions E
# TYPE evictions counter
evictions_total 2
# HELP g G
# TYPE g gauge
g 3
# HELP h H
# TYPE h histogram
h_bucket{le="1.0"} 1
h_bucket{le="0.5",x="le"} 1
h_bucket{le="+Inf"} 1
h_sum 1
h_count 1
# EOF
`,
  );
  assert.equal(toOpenMetrics(''), '# EOF\n');
});

test('who takes OpenMetrics', () => {
  assert.ok(takesOpenMetrics('application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'));
  assert.ok(!takesOpenMetrics('text/plain'));
  assert.ok(!takesOpenMetrics('application/openmetrics-text;q=0, text/plain'));
  assert.ok(!takesOpenMetrics(undefined));
});
