import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Bench, bad, ok, podOf, probe, uid } from '../../test/support/probesBench.ts';
import type { PodStatus } from '../api/types.ts';

describe('probes over time', () => {
  let b: Bench;
  /** The agent has run for long, so that nothing is spread over its first period. */
  beforeEach(async () => {
    b = new Bench();
    await b.seconds(1000);
  });
  const rel = (times: number[]) => times.map((t) => Math.round((t - 1000) * 10) / 10);

  it('over a restart of the agent an old container keeps what it was until its probe has run', async () => {
    b.run('1');
    await b.seconds(60);
    b.restart();
    b.random = 0.9;
    b.probes.add(podOf({ readinessProbe: probe({ failureThreshold: 2 }), livenessProbe: probe() }));
    await b.seconds(8);
    assert.equal(b.probes.readiness('c', '1'), undefined, 'nothing is said of it yet');
    await b.seconds(1.5);
    assert.deepEqual(
      b.changes.filter((c) => c.startsWith('readiness')),
      ['readiness 1 Success'],
    );
  });

  it('a sidecar that had started before the restart of the agent counts as started, so that the others may go on', async () => {
    const pod = podOf({}, { initContainers: [{ name: 'side', restartPolicy: 'Always', startupProbe: probe() }] });
    b.status = { phase: 'Running', initContainerStatuses: [b.container('s', { name: 'side', started: true })] };
    await b.seconds(60);
    b.restart();
    b.probes.add(pod);
    await b.seconds(1);
    assert.equal(b.probes.result('s', 'startup'), 'Success');
  });

  it('sidecars are probed, ordinary init containers are not', async () => {
    const init = [
      { name: 'side', restartPolicy: 'Always', readinessProbe: probe() },
      { name: 'i', readinessProbe: probe() },
    ];
    b.status = { phase: 'Running', initContainerStatuses: [b.container('s', { name: 'side' }), b.container('i', { name: 'i' })] };
    b.answer = async () => bad;
    b.probes.add(podOf({}, { initContainers: init }));
    await b.seconds(1);
    assert.deepEqual(
      b.tries.map((t) => t.id),
      ['s'],
    );
    assert.equal(b.events[0], 'Warning Unhealthy spec.initContainers{side}: Readiness probe failed: no');
  });

  it('a status that shows a running container as not ready brings one more probe, and moves the ticks', async () => {
    b.probes.add(podOf({ readinessProbe: probe() }));
    await b.seconds(3);
    b.run('1');
    b.probes.published(uid, b.status as PodStatus);
    await b.seconds(1);
    assert.deepEqual(rel(b.at('readiness')), [3]);
    b.probes.published(uid, b.status as PodStatus);
    await b.seconds(10);
    assert.deepEqual(rel(b.at('readiness')), [3, 13], 'ready by now: no probe beside the ticks');
  });

  it('a probe that takes longer than its period is made good once, not more often', async () => {
    b.run('1');
    b.answer = async () => {
      if (b.tries.length === 1) await b.clock.sleep(3500);
      return ok;
    };
    b.probes.add(podOf({ livenessProbe: probe({ periodSeconds: 1 }) }));
    await b.seconds(5.2);
    assert.deepEqual(rel(b.at('liveness')), [0, 3.5, 4, 5]);
  });

  it('counts each result, with the time of successes', async () => {
    b.run('1');
    b.answer = async () => {
      await b.clock.sleep(500);
      return b.tries.length === 1 ? ok : bad;
    };
    b.probes.add(podOf({ livenessProbe: probe() }));
    await b.seconds(11);
    const labels = { probe_type: 'Liveness', container: 'c', pod: 'p', namespace: 'n', pod_uid: 'u' };
    assert.deepEqual(b.counted, [
      [labels, true, 0.5],
      [labels, false, 0.5],
    ]);
  });

  it('a thousand workers share one timer', async () => {
    b.run('1');
    for (let i = 0; i < 1000; i++) {
      const pod = podOf({ livenessProbe: probe() });
      b.probes.add({ ...pod, metadata: { ...pod.metadata, uid: `u${i}`, name: `p${i}` } });
    }
    assert.equal(b.clock.pending, 1);
    await b.seconds(9);
    assert.deepEqual([b.tries.length, b.clock.pending], [1000, 1]);
  });
});
