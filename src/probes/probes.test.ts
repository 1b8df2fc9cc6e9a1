import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { podUid } from '../api/brands.ts';
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus, Probe } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import type { ProbeLabels } from './metrics.ts';
import type { ProbeOutcome } from './outcome.ts';
import { Probes } from './probes.ts';
import { Schedule } from './schedule.ts';
import type { ProbeTarget } from './types.ts';

const uid = podUid('u');
const ok: ProbeOutcome = { result: 'success', output: '' };
const bad: ProbeOutcome = { result: 'failure', output: 'no' };

/** Probes on virtual time, of which the answers and the pod's status are set by the test. */
class Bench {
  readonly clock = new SimClock();
  /** Seconds at which each try began, by type. */
  readonly tries: { type: string; at: number; id: string }[] = [];
  readonly events: string[] = [];
  readonly changes: string[] = [];
  readonly counted: [ProbeLabels, boolean, number][] = [];
  readonly removed: ProbeLabels[] = [];
  status: PodStatus | undefined;
  answer: (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeOutcome> = async () => ok;
  random = 0;
  probes = this.restart();

  /** Another agent on the same node. */
  restart(): Probes {
    const { clock } = this;
    this.probes = new Probes({
      clock,
      random: { float: () => this.random, hex: () => '' },
      schedule: new Schedule(clock),
      log: silentLogger,
      events: { event: (o, type, reason, message) => void this.events.push(`${type} ${reason} ${o.fieldPath}: ${message}`) },
      metrics: { probed: (...args) => void this.counted.push(args), removed: (labels) => void this.removed.push(labels) },
      runner: {
        run: (target, signal) => {
          this.tries.push({ type: target.type, at: clock.monotonic() / 1000, id: target.containerId });
          return this.answer(target, signal);
        },
      },
      status: () => this.status,
      changed: (c) => {
        this.changes.push(`${c.type} ${c.containerId} ${c.result}${c.isInitial ? ' (initial)' : ''}`);
        const s = [...(this.status?.containerStatuses ?? []), ...(this.status?.initContainerStatuses ?? [])].find(
          (x) => x.containerID === c.statusId,
        );
        if (s !== undefined && c.type === 'startup') s.started = c.result === 'Success';
        if (s !== undefined && c.type === 'readiness') s.ready = c.result === 'Success';
      },
    });
    return this.probes;
  }

  iso(): string {
    return new Date(this.clock.now()).toISOString();
  }

  run(id: string, over: Partial<ContainerStatus> = {}): void {
    this.status = { phase: 'Running', podIP: '10.0.0.1', containerStatuses: [this.container(id, over)] };
  }

  container(id: string, over: Partial<ContainerStatus> = {}): ContainerStatus {
    const state = { running: { startedAt: this.iso() } };
    return {
      name: 'c',
      containerID: `containerd://${id}`,
      started: true,
      ready: false,
      restartCount: 0,
      image: '',
      imageID: '',
      state,
      ...over,
    };
  }

  at(type: string): number[] {
    return this.tries.filter((t) => t.type === type).map((t) => t.at);
  }

  seconds(s: number): Promise<void> {
    return this.clock.advance(s * 1000);
  }
}

const probe = (over: Probe = {}): Probe => ({
  tcpSocket: { port: 80 },
  periodSeconds: 10,
  timeoutSeconds: 1,
  failureThreshold: 3,
  successThreshold: 1,
  ...over,
});
const podOf = (container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { restartPolicy: 'Always', containers: [{ name: 'c', ...container }], ...spec },
});

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
