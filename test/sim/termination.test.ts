import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../src/api/types.ts';
import type { Behaviour } from './behaviour.ts';
import { apiPod, simContainer } from './pods.ts';
import { Scene } from './scene.ts';
import { SimSource } from './source.ts';

/** How pods end: at every moment of their start, faster than was said at first, and while the runtime goes away. */

const sidecar = (name: string, behaviour: Behaviour): Container => simContainer(name, behaviour, { restartPolicy: 'Always' });
const nothingLeft = (s: Scene) => s.world.runtime.machine.sandboxes.size === 0 && s.world.podsByUid().size === 0;
const cutOff = (s: Scene) =>
  s.world.runtime.journal.calls.filter(({ op, outcome }) => ['RunPodSandbox', 'StartContainer'].includes(op) && outcome === 'Canceled');
const endOf = (s: Scene, container: string) =>
  s.world.runtime.journal.happenings.find((h) => h.kind === 'container-exited' && h.container === container);

/** Pods that take long to start, each at another point. */
const slowStarts: { [what: string]: Partial<Pod['spec']> } = {
  'an image that takes long': { containers: [simContainer('main', {}, { image: 'sim.local/slow:1' })] },
  'an init container that never ends': { initContainers: [simContainer('init', { term: 'ignore' })] },
  'init containers, a sidecar and two containers': {
    initContainers: [simContainer('init', { runMs: 200 }), sidecar('side', { term: 100 }), simContainer('late', { runMs: 300 })],
    containers: [simContainer('main', { term: 300 }), simContainer('other')],
  },
  'a container that crashes': { containers: [simContainer('main', { runMs: 50, exitCodes: [1] })] },
  'a postStart hook that hangs': {
    containers: [simContainer('main', {}, { lifecycle: { postStart: { exec: { command: ['hang'] } } } }), simContainer('other')],
  },
};

for (const [what, spec] of Object.entries(slowStarts)) {
  test(`${what}: the pod can be deleted at every moment of its start, and is gone within its grace`, async () => {
    for (let at = 1; at <= 1_600; at += 53) {
      const s = await new Scene({ seed: at }).boot();
      s.world.runtime.registry.set('sim.local/slow:1', { pullMs: 60_000 });
      s.world.runtime.faults.add({ op: 'ExecSync', effect: { kind: 'hang' } });
      const uid = s.add('a', {}, { terminationGracePeriodSeconds: 3, ...spec });
      await s.world.clock.advance(at);
      s.oracle.remove(uid);
      const took = await s.until(`gone, deleted at ${at} ms`, () => nothingLeft(s), 20_000);
      assert.ok(took < 6_000, `deleted at ${at} ms, gone after ${took} ms`);
      assert.deepEqual(cutOff(s), [], `deleted at ${at} ms: a start is not cut off in the middle`);
      s.check();
    }
  });
}

/** A pod of the API server that ignores SIGTERM runs; `deleted` deletes it there with a grace, also once more. */
async function stubborn(): Promise<{ s: Scene; deleted: (grace: number) => void }> {
  const s = await new Scene({ source: new SimSource('api') }).boot();
  const pod = apiPod('a', 'uid-a', { containers: [simContainer('main', { term: 'ignore' })] });
  s.oracle.put(pod);
  await s.ready('uid-a');
  const deletion = { deletionTimestamp: '2026-01-01T00:01:00Z' };
  const deleted = (grace: number) =>
    s.oracle.put({ ...pod, metadata: { ...pod.metadata, ...deletion, deletionGracePeriodSeconds: grace } });
  return { s, deleted };
}

test('a grace that is made shorter while the container ignores SIGTERM counts at once', async () => {
  const { s, deleted } = await stubborn();
  const began = s.world.clock.monotonic();
  deleted(600);
  await s.world.clock.advance(5_000);
  assert.ok(s.world.isRunning('uid-a'));
  deleted(3);
  await s.until('it ends', () => !s.world.isRunning('uid-a'), 10_000);
  const took = s.world.clock.monotonic() - began;
  assert.ok(took >= 8_000 && took < 9_500, `after ${took} ms`);
});

test('a grace that gets longer changes nothing', async () => {
  const { s, deleted } = await stubborn();
  const began = s.world.clock.monotonic();
  for (const grace of [4, 600]) {
    deleted(grace);
    await s.world.clock.advance(1_000);
  }
  await s.until('it ends', () => !s.world.isRunning('uid-a'), 10_000);
  const took = s.world.clock.monotonic() - began;
  assert.ok(took >= 4_000 && took < 5_000, `after ${took} ms`);
});

test('the runtime dies at any moment while a pod stops: it is stopped when the runtime is back', async () => {
  for (let at = 1; at <= 4_500; at += 151) {
    const s = await new Scene({ seed: at }).boot();
    const spec = {
      terminationGracePeriodSeconds: 4,
      initContainers: [sidecar('side', { term: 500 })],
      containers: [simContainer('main', { term: 'ignore' }), simContainer('quick', { term: 1 })],
    };
    const uid = s.add('a', {}, spec);
    await s.ready(uid);
    s.oracle.remove(uid);
    await s.world.clock.advance(at);
    s.world.runtime.restart(2_000);
    const took = await s.until(`gone, the runtime died at ${at} ms`, () => nothingLeft(s), 60_000);
    assert.ok(took < 45_000, `${took} ms`);
    s.check();
  }
});

test('a sidecar that crashes while its pod stops is not started again, and holds nobody up', async () => {
  const s = await new Scene().boot();
  const uid = s.add(
    'a',
    {},
    {
      terminationGracePeriodSeconds: 30,
      initContainers: [sidecar('side', { runMs: 6_000, exitCodes: [9] }), sidecar('last', { term: 10 })],
      containers: [simContainer('main', { term: 5_000 })],
    },
  );
  await s.ready(uid);
  await s.world.clock.advance(3_000);
  const starts = s.starts(uid).length;
  s.oracle.remove(uid);
  await s.until('gone', () => nothingLeft(s), 15_000);
  assert.equal(s.starts(uid).length, starts);
  assert.match(endOf(s, 'side')?.detail ?? '', /9/);
  s.check();
});
