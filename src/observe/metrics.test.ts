import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgentMetrics } from './agent-metrics.ts';
import { createMetrics, exponentialBuckets } from './metrics.ts';
import { observeProcess } from './process-metrics.ts';

function series(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

test('counters, gauges and histograms come to be when they are asked for', async () => {
  const metrics = createMetrics();
  assert.equal((await metrics.text()).trim(), '');
  metrics.counter('a_total', 'help', ['x']).inc({ x: '1' });
  metrics.counter('a_total', 'help', ['x']).inc({ x: '1' }, 2);
  metrics.gauge('b', 'help').set(5);
  const histogram = metrics.histogram('c', 'help', [], [1, 2]);
  histogram.observe(1.5);
  const all = series(await metrics.text());
  assert.equal(all.get('a_total{x="1"}'), 3);
  assert.equal(all.get('b'), 5);
  assert.equal(all.get('c_bucket{le="1"}'), 0);
  assert.equal(all.get('c_bucket{le="2"}'), 1);
  assert.equal(all.get('c_count'), 1);
  assert.throws(() => metrics.gauge('a_total', 'help'), /is a counter already/);
  metrics.counter('a_total', 'help', ['x']).remove({ x: '1' });
  assert.equal(series(await metrics.text()).has('a_total{x="1"}'), false);
});

test('values that are read come at each scrape', async () => {
  const metrics = createMetrics();
  let n = 0;
  metrics.collect(() => metrics.gauge('n', 'help').set(++n));
  await metrics.text();
  assert.equal(series(await metrics.text()).get('n'), 2);
});

test('bounds', () => {
  assert.deepEqual(exponentialBuckets(1, 2, 5), [1, 2, 4, 8, 16]);
  assert.equal(exponentialBuckets(0.005, 2.5, 14)[2], 0.03125);
});

test('the agent’s metrics have the contract’s names and labels', async () => {
  const metrics = createMetrics();
  let now = 0;
  const agent = createAgentMetrics(
    metrics,
    () => now,
    () => 1000,
  );
  await agent.timed('sync', async () => {
    now += 2;
  });
  await assert.rejects(agent.timed('kill', () => Promise.reject(new Error('x'))));
  agent.relisted(0.1, undefined);
  agent.relisted(0.1, 1);
  agent.listed(
    new Map([
      [
        'u1',
        {
          containers: new Map([
            ['c1', 'running'],
            ['c2', 'exited'],
          ]),
          sandboxes: new Map([['s', 'running']]),
        },
      ],
      ['u2', { containers: new Map(), sandboxes: new Map([['s', 'exited']]) }],
    ]),
  );
  agent.sandboxStarted('', 0.2, false);
  agent.sandboxStarted('runc', 0.2, true);
  agent.containerStarted('container', undefined);
  agent.containerStarted('init_container', 'ErrImagePull');
  agent.containerTerminated('container', 137, 'OOMKilled');
  agent.observe('run_podsandbox', 0.1, true);
  agent.node('n1');
  agent.pods({ desired: { normal: 1, static: 2 }, active: { normal: 0, static: 2 }, mirror: 0 });
  agent.imagePulled(3, '0-10MB');
  agent.ensured('Always', undefined, true);
  agent.podReady(1, 2);
  const all = series(await metrics.text());
  const expected: [string, number][] = [
    ['kubelet_pod_worker_duration_seconds_sum{operation_type="sync"}', 2],
    ['kubelet_pod_worker_duration_seconds_count{operation_type="kill"}', 1],
    ['kubelet_pleg_relist_duration_seconds_count', 2],
    ['kubelet_pleg_relist_interval_seconds_count', 1],
    ['kubelet_pleg_last_seen_seconds', 1000],
    ['kubelet_running_pods', 1],
    ['kubelet_running_containers{container_state="running"}', 1],
    ['kubelet_running_containers{container_state="exited"}', 1],
    ['kubelet_running_containers{container_state="created"}', 0],
    ['kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""}', 1],
    ['kubelet_run_podsandbox_errors_total{runtime_handler="runc"}', 1],
    ['kubelet_started_pods_total', 2],
    ['kubelet_started_pods_errors_total', 1],
    ['kubelet_started_containers_total{container_type="container"}', 1],
    ['kubelet_started_containers_errors_total{container_type="init_container",code="ErrImagePull"}', 1],
    ['kubelet_terminated_containers_total{container_type="container",exit_code="137",reason="OOMKilled"}', 1],
    ['kubelet_runtime_operations_total{operation_type="run_podsandbox"}', 1],
    ['kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"}', 1],
    ['kubelet_node_name{node="n1"}', 1],
    ['kubelet_desired_pods{static="true"}', 2],
    ['kubelet_desired_pods{static=""}', 1],
    ['kubelet_image_pull_duration_seconds_count{image_size_in_bytes="0-10MB"}', 1],
    ['kubelet_image_manager_ensure_image_requests_total{pull_policy="always",present_locally="unknown",pull_required="true"}', 1],
    ['kubelet_pod_start_sli_duration_seconds_count', 1],
    ['kubelet_pod_start_total_duration_seconds_sum', 2],
  ];
  for (const [name, value] of expected) assert.equal(all.get(name), value, name);
});

test('the process', async () => {
  const metrics = createMetrics();
  observeProcess(metrics, async () => 17);
  await metrics.text();
  const all = series(await metrics.text());
  assert.equal(all.get('process_open_fds'), 17);
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
    'kts_event_loop_delay_seconds{quantile="0.99"}',
  ]) {
    assert.ok((all.get(name) ?? -1) >= 0, name);
  }
});
