import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simContainer } from './pods.ts';
import { Scene } from './scene.ts';

/**
 * A pod of which one container ends with 42 once, and asks for all to restart. Not of policy Never: a start that the agent's
 * death breaks off has failed, and would end such a pod.
 */
const spec = () => ({
  restartPolicy: 'OnFailure' as const,
  terminationGracePeriodSeconds: 5,
  initContainers: [simContainer('init', { runMs: 100 }), simContainer('side', { term: 200 }, { restartPolicy: 'Always' })],
  containers: [
    simContainer('main', { term: 'ignore' }),
    simContainer(
      'source',
      { runMs: 1_500, exitCodes: [42], recoversAt: 1 },
      {
        restartPolicy: 'OnFailure',
        restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
      },
    ),
  ],
});
const names = ['init', 'main', 'side', 'source'];

function starts(s: Scene): Record<string, number> {
  const all = s.world.runtime.journal.happenings.filter((h) => h.kind === 'container-started').map((h) => h.container ?? '');
  return Object.fromEntries(names.map((n) => [n, all.filter((x) => x === n).length]));
}

const counts = (s: Scene, uid: string) => {
  const status = s.status(uid);
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((c) => c.restartCount);
};
const isBack = (s: Scene, uid: string) => s.isReady(uid) && counts(s, uid).length === 4 && counts(s, uid).every((n) => n === 1);

test('RestartAllContainers: each container runs once more, in the same sandbox', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a', {}, spec());
  await s.ready(uid);
  const ip = s.status(uid)?.podIP;
  await s.until('all are back', () => isBack(s, uid), 30_000);
  assert.deepEqual(starts(s), { init: 2, main: 2, side: 2, source: 2 });
  assert.equal(s.status(uid)?.podIP, ip);
  await s.world.clock.advance(120_000);
  assert.deepEqual(starts(s), { init: 2, main: 2, side: 2, source: 2 });
});

test('the agent is killed at any moment of it: the next one goes on, and nothing runs a third time', async () => {
  for (let after = 0; after <= 4_200; after += 97) {
    const s = await new Scene({ seed: after }).boot();
    const uid = s.add('a', {}, spec());
    await s.ready(uid);
    await s.world.clock.advance(1_300 + after);
    s.world.agent?.kill();
    await s.world.clock.advance(300);
    await s.boot();
    await s.until(`all are back, killed after ${after} ms`, () => isReadyAgain(s, uid), 60_000);
    await s.world.clock.advance(30_000);
    assert.deepEqual(starts(s), { init: 2, main: 2, side: 2, source: 2 }, `killed after ${after} ms`);
  }
});

test('the runtime fails any call of it: it is done in the end', async () => {
  for (let skip = 0; skip <= 12; skip++) {
    const s = await new Scene({ seed: skip }).boot();
    const uid = s.add('a', {}, spec());
    await s.ready(uid);
    const ops = ['StopContainer', 'RemoveContainer', 'CreateContainer', 'StartContainer'] as const;
    s.world.runtime.faults.add({ op: ops, skip, times: 1, effect: { kind: 'error', code: 'Unknown', message: 'not now', when: 'before' } });
    await s.until(`all run again, call ${skip} failed`, () => isReadyAgain(s, uid), 120_000);
    assert.ok(
      Object.values(starts(s)).every((n) => n === 2),
      `call ${skip}: ${JSON.stringify(starts(s))}`,
    );
  }
});

/** Ready, with a second run of the container that asked. */
const isReadyAgain = (s: Scene, uid: string) => s.isReady(uid) && starts(s)['source'] === 2 && starts(s)['main'] === 2;
