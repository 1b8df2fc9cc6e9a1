import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { instance, sandbox, seen } from '../../test/support/plan-fixtures.ts';
import type { Container, Pod, PodSpec } from '../api/types.ts';
import { CriError } from '../cri/errors.ts';
import { silentLogger } from '../observe/log.ts';
import type { KillReason } from './actions.ts';
import { graceSeconds, podGraceSeconds } from './grace.ts';
import { killContainer, killPod } from './kill.ts';

const plain = (name: string, over: Partial<Container> = {}): Container => ({ name, image: 'i', ...over });
const sidecar = (name: string, over: Partial<Container> = {}) => plain(name, { restartPolicy: 'Always', ...over });
const podOf = (spec: Partial<PodSpec>, metadata: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u', ...metadata },
  spec: { containers: [plain('main')], ...spec },
});

describe('the grace of a container', () => {
  const probe = { exec: { command: ['x'] }, terminationGracePeriodSeconds: 7 };
  const probed = plain('main', { livenessProbe: probe, startupProbe: { ...probe, terminationGracePeriodSeconds: 8 } });
  const pod = podOf({ containers: [probed], terminationGracePeriodSeconds: 40 });
  const graceOf = (reason?: KillReason, override?: number, of = pod) => graceSeconds(of, 'main', reason, override);

  it('is the first of: what the caller asks for, the deletion, the probe that failed, the pod, half a minute', () => {
    assert.equal(graceOf('livenessProbe', 3), 3);
    const deleted = podOf(pod.spec, { deletionGracePeriodSeconds: 12 });
    assert.equal(graceOf('livenessProbe', undefined, deleted), 12);
    assert.deepEqual([graceOf('livenessProbe'), graceOf('startupProbe'), graceOf('definitionChanged'), graceOf()], [7, 8, 40, 40]);
    assert.equal(graceOf(undefined, undefined, podOf({})), 30);
  });
  it('of a whole pod is a second at least', () => {
    assert.deepEqual([podGraceSeconds(podOf({ terminationGracePeriodSeconds: 0 }), undefined), podGraceSeconds(pod, 0)], [1, 1]);
    assert.deepEqual([podGraceSeconds(pod, undefined), podGraceSeconds(pod, 5)], [40, 5]);
  });
});

describe('stopping', () => {
  let clock: SimClock;
  let said: string[];
  /** How long each container takes to stop, and each hook to end; seconds. */
  let stops: Record<string, number>;
  let hooks: Record<string, number | 'fails'>;
  const at = (what: string) => said.push(`${(clock.monotonic() / 1000).toFixed(0)} ${what}`);
  const deps = () => ({
    clock,
    log: silentLogger,
    events: {
      event: (_o: unknown, _t: string, reason: string) => void (reason === 'FailedPreStopHook' && at(reason)),
    },
    runtime: {
      stopContainer: async (id: string, timeout: number) => {
        const name = id.slice(0, id.lastIndexOf('-'));
        at(`stop ${name} ${timeout}`);
        await clock.sleep((stops[name] ?? 0) * 1000);
        at(`${name} ended`);
      },
      stopPodSandbox: async (id: string) => void at(`stop sandbox ${id}`),
    },
    hooks: {
      run: async (_h: unknown, { container }: { container: Container }) => {
        const takes = hooks[container.name] ?? 0;
        at(`hook ${container.name}`);
        if (takes === 'fails') throw new Error('no');
        await clock.sleep(takes * 1000);
      },
    },
  });
  const preStop = { lifecycle: { preStop: { exec: { command: ['x'] } } } };
  const live = new AbortController().signal;
  const kill = async (pod: Pod, names: string[], override?: number, signal = live) => {
    const observed = seen(
      [sandbox()],
      names.map((n) => instance(n, 'running')),
    );
    const memory = { stoppedSandboxes: new Set<never>() };
    const done = killPod(deps() as never, pod, observed, memory, override, signal);
    done.catch(() => undefined);
    await clock.advance(300_000);
    await done;
  };
  beforeEach(() => {
    clock = new SimClock();
    said = [];
    stops = {};
    hooks = {};
  });

  it('the sandbox is stopped when all containers have ended, which are stopped side by side', async () => {
    stops = { main: 5, other: 2 };
    await kill(podOf({ containers: [plain('main'), plain('other')] }), ['main', 'other']);
    assert.deepEqual(said, ['0 stop main 30', '0 stop other 30', '2 other ended', '5 main ended', '5 stop sandbox s0']);
  });

  it('a preStop hook spends whole seconds of the grace; one that fails is told and holds nothing up', async () => {
    hooks = { main: 4, other: 'fails' };
    await kill(podOf({ containers: [plain('main', preStop), plain('other', preStop)] }), ['main', 'other'], 10);
    assert.deepEqual(said.slice(0, 4), ['0 hook main', '0 hook other', '0 FailedPreStopHook', '0 stop other 10']);
    assert.ok(said.includes('4 stop main 6'));
  });

  it('a hook that outlives the grace is left behind, and the container gets its two seconds', async () => {
    hooks = { main: 1000 };
    await kill(podOf({ containers: [plain('main', preStop)] }), ['main'], 6);
    assert.deepEqual(said.slice(0, 2), ['0 hook main', '6 stop main 2']);
  });

  it('without grace no hook runs; nothing gets less than two seconds', async () => {
    await kill(podOf({ containers: [plain('main', preStop)] }), ['main'], 0);
    await kill(podOf({}), ['main'], 1);
    assert.deepEqual(
      said.filter((s) => !s.includes('sandbox')).map((s) => s.slice(s.indexOf(' ') + 1)),
      ['stop main 2', 'main ended', 'stop main 2', 'main ended'],
    );
  });

  it('sidecars wait for the others and for those behind them, their hooks do not; the wait is taken from their grace', async () => {
    stops = { main: 3, second: 2 };
    const pod = podOf({ initContainers: [sidecar('first', preStop), sidecar('second', preStop)], terminationGracePeriodSeconds: 20 });
    await kill(pod, ['first', 'second', 'main']);
    assert.deepEqual(
      said.filter((s) => !s.includes('ended') && !s.includes('sandbox')),
      ['0 hook first', '0 hook second', '0 stop main 20', '3 stop second 17', '5 stop first 15'],
    );
  });

  it('a sidecar whose grace is over while it waits is stopped all the same', async () => {
    stops = { main: 60 };
    await kill(podOf({ initContainers: [sidecar('side')], terminationGracePeriodSeconds: 5 }), ['side', 'main']);
    assert.ok(said.includes('5 stop side 2'), said.join('; '));
  });

  it('one container alone does not wait for others', async () => {
    const pod = podOf({ initContainers: [sidecar('side')] });
    const { id, name } = instance('side', 'running');
    const done = killContainer(deps() as never, pod, [], { id, name, message: 'm', reason: 'livenessProbe' }, live);
    await clock.advance(1);
    await done;
    assert.deepEqual(said, ['0 stop side 30', '0 side ended']);
  });

  it('an abort ends the wait for a hook: nothing is stopped any more', async () => {
    hooks = { main: 1000 };
    const abort = new AbortController();
    clock.after(2_000, () => abort.abort(new Error('a shorter grace')));
    await assert.rejects(kill(podOf({ containers: [plain('main', preStop)] }), ['main'], 60, abort.signal), /a shorter grace/);
    assert.deepEqual(said, ['0 hook main']);
  });

  it('a container that is gone already is no error; another error is, and the sandbox stays', async () => {
    const failing = (code: 'NotFound' | 'Unknown') => {
      const base = deps();
      const stopContainer = () => Promise.reject(new CriError(code, 'StopContainer', 'x'));
      return { ...base, runtime: { ...base.runtime, stopContainer } };
    };
    const observed = seen([sandbox()], [instance('main', 'running')]);
    const stop = (code: 'NotFound' | 'Unknown') =>
      killPod(failing(code) as never, podOf({}), observed, { stoppedSandboxes: new Set() }, undefined, live);
    await stop('NotFound');
    assert.deepEqual(said, ['0 stop sandbox s0']);
    await assert.rejects(stop('Unknown'), { code: 'KillContainerError' });
    assert.equal(said.length, 1);
  });
});
