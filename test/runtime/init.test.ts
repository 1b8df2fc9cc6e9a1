import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ContainerStatus } from '../../src/api/types.ts';
import type { Agent } from '../support/agent.ts';
import { STAY, shellContainer } from '../support/shellContainer.ts';
import {
  type AgentWorld,
  logFilesOf,
  putManifest,
  removeManifest,
  shownPods,
  startAgentWorld,
  testPod,
  until,
  untilReady,
} from './agent-world.ts';

const FOREVER = ['sleep', '100000'];
const sidecar = (name: string, script = STAY, over: object = {}) => shellContainer(name, script, { restartPolicy: 'Always', ...over });

describe('init containers and sidecars on a real containerd', () => {
  let world: AgentWorld;
  let agent: Agent;

  before(async () => {
    world = await startAgentWorld();
    ({ agent } = world);
  });
  after(() => world?.stop());

  const put = (name: string, spec: object, command = FOREVER) => putManifest(agent, `${name}.yaml`, testPod(name, command, { spec }));
  const pod = async (name: string) => (await shownPods(agent)).get(name);
  const init = async (name: string, container: string): Promise<ContainerStatus | undefined> =>
    (await pod(name))?.status?.initContainerStatuses?.find((s) => s.name === container);
  const at = (time: string | null | undefined) => Date.parse(time ?? '');
  /** All that a container has written, whatever run it was. */
  const written = async (name: string, container: string): Promise<string> => {
    const files = await logFilesOf(agent, name, container);
    return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('');
  };
  const gone = (name: string) => until(agent, `${name} gone`, async () => (await pod(name)) === undefined);

  it('init containers run one after another, then the others; the status shows each', async () => {
    const volumes = [{ name: 'v', emptyDir: {} }];
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const step = (name: string) => shellContainer(name, `cat /v/steps 2>/dev/null; echo ${name} >> /v/steps; sleep 0.5`, { volumeMounts });
    await put('order', {
      volumes,
      initContainers: [step('a'), step('b')],
      containers: [shellContainer('c', 'cat /v/steps; sleep 100000', { volumeMounts })],
    });
    const waiting = await until(agent, 'a running', async () => {
      const p = await pod('order');
      return p?.status?.initContainerStatuses?.[0]?.state?.running === undefined ? undefined : p;
    });
    assert.equal(waiting.status?.phase, 'Pending');
    assert.equal(waiting.status?.containerStatuses?.[0]?.state?.waiting?.reason, 'PodInitializing');
    const initialized = waiting.status?.conditions?.find((c) => c.type === 'Initialized');
    assert.deepEqual([initialized?.status, initialized?.reason], ['False', 'ContainersNotInitialized']);
    await untilReady(agent, 'order');
    assert.match(await written('order', 'c'), /F a\n.* F b\n/);
    const [a, b] = [await init('order', 'a'), await init('order', 'b')];
    assert.deepEqual([a?.ready, b?.ready, a?.state?.terminated?.reason], [true, true, 'Completed']);
    assert.ok(at(a?.state?.terminated?.finishedAt) <= at(b?.state?.terminated?.startedAt));
    await removeManifest(agent, 'order.yaml');
  });

  it('one that fails is tried again under Always; under Never it ends the pod, and nothing behind it starts', async () => {
    const fails = [shellContainer('bad', 'echo tried; exit 3'), shellContainer('later', 'echo no')];
    await put('retry', { initContainers: fails });
    await put('never', { initContainers: fails, restartPolicy: 'Never' });
    const bad = await until(agent, 'retried', async () => {
      const s = await init('retry', 'bad');
      return s !== undefined && s.restartCount >= 1 && s.state?.waiting !== undefined ? s : undefined;
    });
    assert.deepEqual([bad.state?.waiting?.reason, bad.lastState?.terminated?.exitCode], ['CrashLoopBackOff', 3]);
    await until(agent, 'failed', async () => (await pod('never'))?.status?.phase === 'Failed');
    assert.equal((await init('never', 'bad'))?.restartCount, 0);
    for (const name of ['retry', 'never']) {
      assert.equal(await written(name, 'later'), '', name);
      assert.equal((await pod(name))?.status?.containerStatuses?.[0]?.state?.running, undefined, name);
      await removeManifest(agent, `${name}.yaml`);
    }
  });

  it('one that never ends, then the pod is deleted: gone within its grace', async () => {
    await put('stuck', { initContainers: [shellContainer('stuck', 'sleep 100000')] });
    await until(agent, 'running', async () => (await init('stuck', 'stuck'))?.state?.running !== undefined);
    await removeManifest(agent, 'stuck.yaml');
    const began = performance.now();
    await gone('stuck');
    await until(agent, 'cleaned up', async () => (await written('stuck', 'stuck')) === '');
    assert.ok(performance.now() - began < 15_000);
  });

  it('a sidecar starts before those behind it, once its startup probe has passed, and goes on beside them', async () => {
    const startupProbe = { exec: { command: ['test', '-e', '/tmp/up'] }, periodSeconds: 1, failureThreshold: 30 };
    const slow = sidecar('side', `sleep 2; touch /tmp/up; ${STAY}`, { startupProbe });
    await put('beside', { initContainers: [slow, shellContainer('next', 'echo next')] });
    await until(agent, 'the sidecar runs', async () => (await init('beside', 'side'))?.state?.running !== undefined);
    const early = await init('beside', 'next');
    assert.deepEqual([(await init('beside', 'side'))?.started, early?.state?.waiting?.reason], [false, 'PodInitializing']);
    await untilReady(agent, 'beside');
    const [side, next] = [await init('beside', 'side'), await init('beside', 'next')];
    assert.deepEqual([side?.started, side?.ready, next?.state?.terminated?.exitCode], [true, true, 0]);
    assert.ok(at(next?.state?.terminated?.startedAt) - at(side?.state?.running?.startedAt) >= 1_000, 'not before the probe');
    await removeManifest(agent, 'beside.yaml');
  });

  it('a sidecar that ends is started again, while the others run', async () => {
    await put('again', { initContainers: [sidecar('side', 'sleep 1; exit 1')], restartPolicy: 'Never' });
    const side = await until(agent, 'restarted', async () => {
      const s = await init('again', 'side');
      return s !== undefined && s.restartCount >= 1 ? s : undefined;
    });
    assert.equal(side.lastState?.terminated?.exitCode, 1);
    const c = (await pod('again'))?.status?.containerStatuses?.[0];
    assert.deepEqual([c?.restartCount, c?.state?.running === undefined], [0, false]);
    await removeManifest(agent, 'again.yaml');
  });

  it('sidecars outlive the others, and end in reverse order; one that crashes meanwhile holds nobody up', async () => {
    const volumes = [{ name: 'v', hostPath: { path: agent.dir } }];
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const note = (name: string, before = '') => `trap "${before}echo ${name} >> /v/order; exit 0" TERM; while true; do sleep 0.05; done`;
    await put('reverse', {
      terminationGracePeriodSeconds: 20,
      volumes,
      initContainers: [
        sidecar('first', note('first'), { volumeMounts }),
        // Crashes once the pod is on its way out, and must not come back.
        sidecar('fragile', 'echo began; until [ -e /v/leaving ]; do sleep 0.05; done; exit 9', { volumeMounts }),
        sidecar('second', note('second'), { volumeMounts }),
      ],
      containers: [
        shellContainer('c', note('main', 'touch /v/leaving; sleep 1; '), { volumeMounts }),
        shellContainer('crash', 'trap "exit 7" TERM; while true; do sleep 0.05; done'),
      ],
    });
    await untilReady(agent, 'reverse');
    const starts = async () =>
      (await agent.log()).split('\n').filter((l) => /initContainers\{fragile\}/.test(l) && l.includes('"Started"')).length;
    assert.equal(await starts(), 1);
    await removeManifest(agent, 'reverse.yaml');
    await gone('reverse');
    const order = await until(agent, 'all ended', async () => {
      const text = await readFile(join(agent.dir, 'order'), 'utf8').catch(() => '');
      return text.includes('first') ? text : undefined;
    });
    assert.deepEqual(order.trim().split('\n'), ['main', 'second', 'first']);
    assert.equal(await starts(), 1, 'the one that crashed was not started again');
  });

  it('when the others have ended for good the sidecars end too, and the pod has succeeded', async () => {
    await put('done', { initContainers: [sidecar('side')], restartPolicy: 'Never' }, ['sh', '-c', 'sleep 1']);
    await until(agent, 'succeeded', async () => (await pod('done'))?.status?.phase === 'Succeeded');
    const side = await until(agent, 'the sidecar ended', async () => {
      const s = await init('done', 'side');
      return s?.state?.terminated === undefined ? undefined : s;
    });
    assert.equal(side.restartCount, 0);
    await removeManifest(agent, 'done.yaml');
  });
});
