import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inputFor, observedPod, podWith, record, sandbox, time } from '../../test/support/status-fixtures.ts';
import type { Pod, PodCondition, PodStatus, RestartPolicy } from '../api/types.ts';
import { computePodStatus, isTerminalPhase } from './compute.ts';
import { withProbeResults } from './readiness.ts';

const condition = (status: PodStatus, type: string) => status.conditions?.find((c) => c.type === type);

test('a new pod is Pending, with every condition and a start time', () => {
  const status = computePodStatus(inputFor(podWith()));
  assert.equal(status.phase, 'Pending');
  assert.equal(status.startTime, time(100));
  assert.equal(status.qosClass, 'BestEffort');
  assert.deepEqual(
    status.conditions?.map((c) => [c.type, c.status]),
    [
      ['PodReadyToStartContainers', 'False'],
      ['Initialized', 'True'],
      ['Ready', 'False'],
      ['ContainersReady', 'False'],
      ['PodScheduled', 'True'],
    ],
  );
});

test('a running pod is ready by its probes, and dates move only with a change', () => {
  const pod = podWith({ containers: [{ name: 'a', readinessProbe: {} }] });
  const first = computePodStatus(inputFor(pod, { observed: observedPod([record('a')]) }));
  assert.equal(condition(first, 'Ready')?.status, 'False');
  assert.equal(first.containerStatuses?.[0]?.started, true);
  const input = inputFor(pod, { observed: observedPod([record('a')]), previous: first, nowIso: time(200), readiness: () => true });
  const second = computePodStatus(input);
  assert.equal(second.phase, 'Running');
  assert.equal(condition(second, 'Ready')?.lastTransitionTime, time(200));
  assert.equal(condition(second, 'PodScheduled')?.lastTransitionTime, time(100));
  assert.equal(second.startTime, time(100));
  assert.deepEqual([second.podIP, second.podIPs], ['10.0.0.1', [{ ip: '10.0.0.1' }]]);
});

test('a startup probe holds the container back until it has succeeded', () => {
  const pod = podWith({ containers: [{ name: 'a', startupProbe: {} }] });
  const with_ = (result: boolean | undefined) =>
    computePodStatus(inputFor(pod, { observed: observedPod([record('a')]), started: () => result })).containerStatuses?.[0];
  assert.deepEqual([with_(undefined)?.started, with_(undefined)?.ready], [false, false]);
  assert.deepEqual([with_(true)?.started, with_(true)?.ready], [true, true]);
});

test('a started container stays started until its probe says otherwise, a new one begins anew', () => {
  const pod = podWith({ containers: [{ name: 'a', startupProbe: {} }] });
  const previous = computePodStatus(inputFor(pod, { observed: observedPod([record('a')]), started: () => true }));
  const next = (at: number) =>
    computePodStatus(inputFor(pod, { observed: observedPod([record('a', { at })]), previous })).containerStatuses?.[0]?.started;
  assert.equal(next(1), true);
  assert.equal(next(2), false);
});

test('readiness is kept over a restart of the agent for containers that ran before it', () => {
  const api: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const pod = podWith({ containers: [{ name: 'a', readinessProbe: {} }] }, { status: api });
  const observed = observedPod([record('a', { at: 5 })]);
  const ready = (keepReadyBefore: string) => computePodStatus(inputFor(pod, { observed, keepReadyBefore })).containerStatuses?.[0]?.ready;
  assert.equal(ready(time(6)), true);
  assert.equal(ready(time(5)), false);
});

test('an override sets phase, reason and condition, but never changes a terminal phase', () => {
  const override = {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'low',
    disruption: { reason: 'TerminationByKubelet', message: 'low' },
  } as const;
  const evicted = computePodStatus(inputFor(podWith(), { observed: observedPod([record('a')]), override }));
  assert.deepEqual([evicted.phase, evicted.reason, evicted.message], ['Failed', 'Evicted', 'low']);
  assert.equal(condition(evicted, 'DisruptionTarget')?.status, 'True');
  assert.equal(condition(evicted, 'Ready')?.reason, 'PodFailed');
  const later = computePodStatus(inputFor(podWith(), { observed: observedPod([]), previous: evicted, isTerminal: true }));
  assert.deepEqual([later.phase, later.reason], ['Failed', 'Evicted']);
  assert.ok(condition(later, 'DisruptionTarget'));
  const done = podWith({}, { status: { phase: 'Succeeded' } });
  assert.equal(computePodStatus(inputFor(done, { override })).phase, 'Succeeded');
});

test('conditions of others stay, those of the kubelet are made anew', () => {
  const conditions = [{ type: 'x/y', status: 'True' } as const, { type: 'PodScheduled', status: 'False' } as const];
  const status = computePodStatus(inputFor(podWith({}, { status: { conditions } })));
  assert.deepEqual(status.conditions?.[0], conditions[0]);
  assert.equal(status.conditions?.filter((c) => c.type === 'PodScheduled').length, 1);
  assert.equal(condition(status, 'PodScheduled')?.status, 'True');
});

test('addresses: the node family first, kept without a sandbox, the node own for host network', () => {
  const both = observedPod([record('a')], [sandbox()], ['10.0.0.1', 'fd00::1', '10.0.0.2']);
  const six = computePodStatus(inputFor(podWith(), { observed: both, hostIPs: ['fd00::a', '192.0.2.1'] }));
  assert.deepEqual(six.podIPs, [{ ip: 'fd00::1' }, { ip: '10.0.0.1' }]);
  assert.deepEqual([six.hostIP, six.hostIPs?.length], ['fd00::a', 2]);
  const ended = observedPod([record('a', { state: 'exited' })], [sandbox('s0', 'notready')], []);
  assert.equal(computePodStatus(inputFor(podWith(), { observed: ended, previous: six })).podIP, '10.0.0.1');
  const host = computePodStatus(inputFor(podWith({ hostNetwork: true }), { hostIPs: ['192.0.2.1', 'fd00::a'] }));
  assert.deepEqual(host.podIPs, [{ ip: '192.0.2.1' }, { ip: 'fd00::a' }]);
});

test('termination messages share 12 KiB and are never cut inside a character', () => {
  const pod = podWith({ containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }], restartPolicy: 'Never' });
  const message = 'ä'.repeat(3000);
  const observed = observedPod(['a', 'b', 'c'].map((n) => record(n, { state: 'exited', message })));
  for (const s of computePodStatus(inputFor(pod, { observed })).containerStatuses ?? []) {
    const kept = s.state?.terminated?.message ?? '';
    assert.equal(Buffer.byteLength(kept), 4096);
    assert.ok(message.startsWith(kept));
  }
});

const anyRecord = fc.record({
  name: fc.constantFrom('a', 'b', 'i', 's', 'e', 'stranger'),
  state: fc.constantFrom('created', 'running', 'exited', 'unknown'),
  exitCode: fc.constantFrom(0, 1, 42, 137),
  at: fc.integer({ min: 0, max: 50 }),
  restartCount: fc.integer({ min: 0, max: 5 }),
  sandbox: fc.constantFrom('s0', 's1'),
});
const anyLook = fc.record({
  containers: fc.option(fc.array(anyRecord, { maxLength: 6 })),
  sandboxReady: fc.boolean(),
  isTerminal: fc.boolean(),
  failing: fc.subarray(['a', 'b', 'i', 's']),
  ready: fc.option(fc.boolean()),
  evict: fc.boolean(),
});
const anyPod = fc.record({
  restartPolicy: fc.constantFrom<RestartPolicy>('Always', 'OnFailure', 'Never'),
  rules: fc.boolean(),
  source: fc.constantFrom('api', 'file'),
  deleted: fc.boolean(),
});

test('property: over any run of observations it never throws, a terminal phase never reverts, Ready implies ContainersReady, lists stay sorted', () => {
  fc.assert(
    fc.property(anyPod, fc.array(anyLook, { minLength: 1, maxLength: 6 }), (p, looks) => {
      const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
      const pod = podWith(
        {
          restartPolicy: p.restartPolicy,
          initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }],
          containers: [
            { name: 'b', readinessProbe: {} },
            { name: 'a', ...(p.rules ? { restartPolicy: 'Never', restartPolicyRules: rules } : {}) },
          ],
          ephemeralContainers: [{ name: 'e' }],
        },
        { source: p.source, deleted: p.deleted },
      );
      let previous: PodStatus | undefined;
      looks.forEach((look, i) => {
        const records = look.containers
          ?.map((r, n) => record(r.name, { ...r, id: `${r.name}-${r.at}-${n}` }))
          .sort((x, y) => (y.status.createdAt > x.status.createdAt ? 1 : -1));
        const status = computePodStatus(
          inputFor(pod, {
            observed: records && observedPod(records, [sandbox('s0', look.sandboxReady ? 'ready' : 'notready')]),
            previous,
            isTerminal: look.isTerminal,
            nowIso: time(100 + i),
            reasons: new Map(look.failing.map((n) => [n, { reason: 'CrashLoopBackOff', message: '' }])),
            readiness: () => look.ready ?? undefined,
            ...(look.evict ? { override: { phase: 'Failed', reason: 'Evicted', message: 'm' } as const } : {}),
          }),
        );
        if (isTerminalPhase(previous?.phase)) assert.equal(status.phase, previous.phase);
        if (isTerminalPhase(status.phase)) assert.equal(condition(status, 'Ready')?.status === 'True', false);
        if (condition(status, 'Ready')?.status === 'True') assert.equal(condition(status, 'ContainersReady')?.status, 'True');
        assert.deepEqual(
          status.containerStatuses?.map((s) => s.name),
          ['a', 'b'],
        );
        assert.deepEqual(
          status.initContainerStatuses?.map((s) => s.name),
          ['s', 'i'],
        );
        assert.equal(status.startTime, time(100));
        for (const s of [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]) {
          assert.equal(Object.keys(s.state ?? {}).length, 1, 'exactly one state');
          const before = [...(previous?.containerStatuses ?? []), ...(previous?.initContainerStatuses ?? [])].find(
            (o) => o.name === s.name,
          );
          assert.ok(s.restartCount >= (before?.restartCount ?? 0), 'restart counts never fall');
          if (s.ready && s.name !== 'i') assert.ok(s.state?.running);
        }
        previous = status;
      });
    }),
    { numRuns: 300 },
  );
});

test('a container that ran well before the agent started keeps started and ready until its probes speak: no flap at a restart', () => {
  const container = { name: 'c', image: 'i', startupProbe: {}, readinessProbe: {} };
  const running = {
    name: 'c',
    state: { running: { startedAt: '2030-01-01T00:00:00Z' } },
    ready: false,
    restartCount: 0,
    image: 'i',
    imageID: 'i',
  };
  const none = { readiness: () => undefined, started: () => undefined };
  const judged = (source: string, conditions: PodCondition[], before: string) => {
    const pod: Pod = {
      metadata: { name: 'p', namespace: 'n', uid: 'u', annotations: { 'kubernetes.io/config.source': source } },
      spec: { containers: [container] },
      status: { conditions },
    };
    const [status] = withProbeResults(pod, [container], [running], 'regular', none, before);
    return [status?.started, status?.ready];
  };
  const later = '2030-01-01T00:01:00Z';
  assert.deepEqual(judged('file', [], later), [true, true]);
  assert.deepEqual(judged('api', [{ type: 'Ready', status: 'True' }], later), [true, true]);
  assert.deepEqual(judged('api', [], later), [true, false]);
  assert.deepEqual(judged('file', [], '2029-12-31T23:59:55Z'), [false, false], 'it began after the agent');
});
