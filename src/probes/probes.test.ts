import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Bench, bad, ok, podOf, probe } from '../../test/support/probesBench.ts';
import type { ContainerStatus } from '../api/types.ts';

describe('probes', () => {
  let b: Bench;
  /** The agent has run for long, so that nothing is spread over its first period. */
  beforeEach(async () => {
    b = new Bench();
    await b.seconds(1000);
  });
  const rel = (times: number[]) => times.map((t) => Math.round((t - 1000) * 10) / 10);

  it('probes at once, then every period', async () => {
    b.run('1');
    b.probes.add(podOf({ readinessProbe: probe() }));
    await b.seconds(25);
    assert.deepEqual(rel(b.at('readiness')), [0, 10, 20]);
  });

  it('spreads the first probes over a period while the agent is young, and only then', async () => {
    b.random = 0.5;
    b.restart();
    b.run('1');
    b.probes.add(podOf({ livenessProbe: probe() }));
    await b.seconds(16);
    assert.deepEqual(rel(b.at('liveness')), [5, 15]);
    const pod = podOf({ livenessProbe: probe() });
    b.probes.remove(pod);
    b.probes.add(pod);
    await b.seconds(1);
    assert.equal(rel(b.at('liveness')).at(-1), 16);
  });

  it('adds once: another sync of the pod makes no second worker', async () => {
    b.run('1', { started: false });
    const pod = podOf({ readinessProbe: probe(), livenessProbe: probe(), startupProbe: probe() });
    for (let i = 0; i < 3; i++) b.probes.add(pod);
    await b.seconds(15);
    assert.deepEqual(
      [b.at('startup'), b.at('readiness'), b.at('liveness')].map((t) => t.length),
      [1, 1, 1],
    );
  });

  it('does not probe a pod without a status, nor a container that the status does not know', async () => {
    b.probes.add(podOf({ readinessProbe: probe() }));
    await b.seconds(11);
    b.status = { phase: 'Pending', containerStatuses: [b.container('', { containerID: '' })] };
    await b.seconds(10);
    assert.deepEqual(b.tries, []);
    b.run('1');
    await b.seconds(10);
    assert.equal(b.tries.length, 1);
  });

  it('waits for initialDelaySeconds after the start of the container', async () => {
    b.run('1');
    b.probes.add(podOf({ livenessProbe: probe({ initialDelaySeconds: 15 }) }));
    await b.seconds(25);
    assert.deepEqual(rel(b.at('liveness')), [20]);
  });

  it('publishes initial values, and results on their thresholds', async () => {
    b.run('1');
    b.probes.add(podOf({ readinessProbe: probe({ successThreshold: 2, failureThreshold: 2 }) }));
    await b.seconds(1);
    assert.equal(b.probes.readiness('c', '1'), false);
    await b.seconds(10);
    assert.equal(b.probes.readiness('c', '1'), true);
    b.answer = async () => bad;
    await b.seconds(10);
    assert.equal(b.probes.readiness('c', '1'), true, 'one failure of two');
    b.answer = async () => ok;
    await b.seconds(10);
    b.answer = async () => bad;
    await b.seconds(10);
    assert.equal(b.probes.readiness('c', '1'), true, 'not two in a row');
    await b.seconds(10);
    assert.equal(b.probes.readiness('c', '1'), false);
    assert.deepEqual(b.changes, ['readiness 1 Failure (initial)', 'readiness 1 Success', 'readiness 1 Failure']);
  });

  it('liveness: Success until the threshold, then Failure and no probe until there is another container', async () => {
    b.run('1');
    b.answer = async () => bad;
    b.probes.add(podOf({ livenessProbe: probe({ failureThreshold: 2 }) }));
    await b.seconds(1);
    assert.equal(b.probes.result('1', 'liveness'), 'Success');
    await b.seconds(30);
    assert.equal(b.probes.result('1', 'liveness'), 'Failure');
    assert.deepEqual(rel(b.at('liveness')), [0, 10]);
    b.run('2');
    await b.seconds(10);
    assert.equal(b.probes.result('1', 'liveness'), 'Unknown', 'forgotten');
    assert.equal(b.probes.result('2', 'liveness'), 'Success', 'a new container begins anew, and its failures are counted from 0');
    await b.seconds(10);
    assert.equal(b.probes.result('2', 'liveness'), 'Failure');
  });

  it('startup gates liveness and readiness, then is over until there is another container', async () => {
    b.run('1', { started: false });
    b.answer = async ({ type }) => (type === 'startup' && b.at('startup').length < 3 ? bad : ok);
    b.probes.add(
      podOf({
        startupProbe: probe({ periodSeconds: 2, failureThreshold: 5 }),
        readinessProbe: probe({ periodSeconds: 3 }),
        livenessProbe: probe({ periodSeconds: 3 }),
      }),
    );
    await b.seconds(3.5);
    assert.equal(b.probes.started('c', '1'), false);
    assert.deepEqual([b.at('liveness'), b.at('readiness')], [[], []]);
    await b.seconds(4);
    assert.equal(b.probes.started('c', '1'), true);
    assert.deepEqual(rel(b.at('startup')), [0, 2, 4]);
    assert.deepEqual([rel(b.at('liveness')), rel(b.at('readiness'))], [[6], [6]]);
    b.run('2', { started: false });
    await b.seconds(2);
    assert.equal(b.at('startup').length, 4);
  });

  it('startup: failed for good is held too', async () => {
    b.run('1', { started: false });
    b.answer = async () => bad;
    b.probes.add(podOf({ startupProbe: probe({ periodSeconds: 1, failureThreshold: 2 }) }));
    await b.seconds(10);
    assert.equal(b.probes.result('1', 'startup'), 'Failure');
    assert.equal(b.tries.length, 2);
    assert.equal(b.events[0], 'Warning Unhealthy spec.containers{c}: Startup probe failed: no');
  });

  it('an error is no result: three tries, an event, counters untouched', async () => {
    b.run('1');
    b.probes.add(podOf({ livenessProbe: probe({ failureThreshold: 1 }) }));
    b.answer = async () => Promise.reject(new Error('the runtime is away'));
    await b.seconds(1);
    assert.equal(b.tries.length, 3);
    assert.equal(b.probes.result('1', 'liveness'), 'Success');
    assert.deepEqual(b.counted, []);
    assert.deepEqual(b.events, [
      'Warning Unhealthy spec.containers{c}: Liveness probe errored and resulted in unknown state: the runtime is away',
    ]);
    b.answer = async () => (b.tries.length === 4 ? Promise.reject(new Error('once')) : ok);
    await b.seconds(10);
    assert.deepEqual([b.tries.length, b.events.length, b.counted.length], [5, 1, 1]);
  });

  it('a warning is a success that is told', async () => {
    b.run('1');
    b.answer = async () => ({ result: 'warning', output: 'elsewhere' });
    b.probes.add(podOf({ readinessProbe: probe() }));
    await b.seconds(1);
    assert.equal(b.probes.readiness('c', '1'), true);
    assert.deepEqual(b.events, ['Warning ProbeWarning spec.containers{c}: Readiness probe warning: elsewhere']);
  });

  it('a container that does not run counts as failed, and the worker ends when it will not run again', async () => {
    const pod = podOf({ readinessProbe: probe() }, { restartPolicy: 'OnFailure' });
    b.run('1');
    b.probes.add(pod);
    await b.seconds(1);
    const ended = (exitCode: number) => ({ terminated: { exitCode, reason: '', startedAt: null, finishedAt: null, containerID: '' } });
    b.run('1', { state: ended(1) as ContainerStatus['state'] & object });
    await b.seconds(10);
    assert.equal(b.probes.readiness('c', '1'), false);
    assert.deepEqual(b.removed, [], 'it will be restarted');
    b.run('1', { state: ended(0) as ContainerStatus['state'] & object });
    await b.seconds(10);
    assert.equal(b.removed.length, 1);
    assert.equal(b.probes.readiness('c', '1'), undefined);
  });

  it('a pod that is over ends its workers', async () => {
    b.run('1');
    b.probes.add(podOf({ readinessProbe: probe(), livenessProbe: probe() }));
    await b.seconds(1);
    b.status = { ...b.status, phase: 'Failed' };
    await b.seconds(60);
    assert.deepEqual([b.tries.length, b.removed.length, b.clock.pending], [2, 2, 0]);
  });

  it('a pod that is deleted: liveness and startup end as a success, readiness goes on', async () => {
    b.run('1');
    const pod = podOf({ readinessProbe: probe(), livenessProbe: probe() });
    b.answer = async () => bad;
    b.probes.add({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: b.iso() } });
    await b.seconds(25);
    assert.deepEqual([b.at('liveness'), rel(b.at('readiness'))], [[], [0, 10, 20]]);
    assert.equal(b.changes.includes('liveness 1 Failure'), false);
  });

  it('termination: liveness and startup stop at once, readiness until the pod is removed, which gives up a probe under way', async () => {
    b.run('1');
    const pod = podOf({ readinessProbe: probe(), livenessProbe: probe() });
    b.probes.add(pod);
    await b.seconds(1);
    b.probes.stopLivenessAndStartup(pod);
    let given: unknown;
    b.answer = (_t, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          given = signal.reason;
          reject(signal.reason as Error);
        });
      });
    await b.seconds(20);
    assert.deepEqual([rel(b.at('liveness')), rel(b.at('readiness'))], [[0], [0, 10]]);
    b.probes.remove(pod);
    await b.seconds(60);
    assert.ok(given instanceof Error);
    assert.deepEqual([b.at('readiness').length, b.removed.length, b.events, b.clock.pending], [2, 2, [], 0]);
  });
});
