import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../support/agent.ts';
import type { PrivateContainerd } from '../support/containerd.ts';
import { IGNORE_TERM, shellContainer } from '../support/shellContainer.ts';
import {
  type AgentWorld,
  leftOf,
  putManifest,
  removeManifest,
  shownPods,
  startAgentWorld,
  testPod,
  until,
  untilReady,
} from './agent-world.ts';

const endsWith = (code: number, after: number) => `trap "sleep ${after}; exit ${code}" TERM; while true; do sleep 0.05; done`;

describe('termination on a real containerd', () => {
  let world: AgentWorld;
  let containerd: PrivateContainerd;
  let agent: Agent;

  before(async () => {
    world = await startAgentWorld();
    ({ agent, containerd } = world);
  });
  after(() => world?.stop());

  const put = (name: string, spec: object) => putManifest(agent, `${name}.yaml`, testPod(name, [], { spec }));
  const status = async (name: string) => (await shownPods(agent)).get(name)?.status;
  const allGone = (name: string, timeoutMs?: number) =>
    until(agent, `nothing left of ${name}`, async () => (await leftOf(containerd, name)) === '', timeoutMs);

  it('past its deadline a pod has failed; SIGTERM first, SIGKILL after the grace, two seconds at the least', async () => {
    const spec = { activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 1, restartPolicy: 'Never' };
    await put('deadline', {
      ...spec,
      containers: [
        shellContainer('ignores', IGNORE_TERM),
        shellContainer('slow', endsWith(5, 1.2)),
        shellContainer('quick', endsWith(0, 0)),
      ],
    });
    const over = await until(agent, 'all ended', async () => {
      const s = await status('deadline');
      return s?.containerStatuses?.length === 3 && s.containerStatuses.every((c) => c.state?.terminated) ? s : undefined;
    });
    assert.deepEqual([over.phase, over.reason], ['Failed', 'DeadlineExceeded']);
    const ends = (over.containerStatuses ?? []).map((c) => [c.name, c.state?.terminated?.exitCode, c.state?.terminated?.reason]);
    assert.deepEqual(ends, [
      ['ignores', 137, 'Error'],
      ['quick', 0, 'Completed'],
      ['slow', 5, 'Error'],
    ]);
    await removeManifest(agent, 'deadline.yaml');
    await allGone('deadline');
  });

  it('a pod that ignores SIGTERM has its whole grace', async () => {
    await put('whole', { terminationGracePeriodSeconds: 4, containers: [shellContainer('ignores', IGNORE_TERM)] });
    await untilReady(agent, 'whole');
    const began = performance.now();
    await removeManifest(agent, 'whole.yaml');
    await sleep(3_000);
    assert.notEqual(await leftOf(containerd, 'whole'), '', 'it runs on');
    await allGone('whole');
    const took = (performance.now() - began) / 1000;
    assert.ok(took >= 4 && took < 20, `${took.toFixed(1)} s`);
  });

  it('containerd dies while a pod stops: the pod ends once it is back', async () => {
    await put('cut', {
      terminationGracePeriodSeconds: 5,
      containers: [shellContainer('ignores', IGNORE_TERM), shellContainer('quick', endsWith(0, 0))],
    });
    await untilReady(agent, 'cut');
    await removeManifest(agent, 'cut.yaml');
    await sleep(1_500);
    await containerd.kill('SIGKILL');
    await sleep(1_000);
    await containerd.start();
    await allGone('cut', 60_000);
    assert.equal((await shownPods(agent)).has('cut'), false);
  });

  it('the agent dies while a pod stops: the next one stops it', async () => {
    await put('orphan', { terminationGracePeriodSeconds: 6, containers: [shellContainer('ignores', IGNORE_TERM)] });
    await untilReady(agent, 'orphan');
    await removeManifest(agent, 'orphan.yaml');
    await sleep(700);
    await agent.kill('SIGKILL');
    await agent.start();
    await agent.waitHealthy();
    await allGone('orphan', 60_000);
  });

  it('pods deleted in every phase of their start leave nothing behind', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `early-${i}`);
    const hook = { lifecycle: { postStart: { exec: { command: ['sleep', '1000'] } } } };
    const spec = (i: number) => ({
      terminationGracePeriodSeconds: 1,
      initContainers: [
        shellContainer('init', i % 2 === 0 ? 'sleep 0.2' : 'sleep 100000'),
        shellContainer('side', endsWith(0, 0), { restartPolicy: 'Always' }),
      ],
      containers: [shellContainer('c', endsWith(0, 0), i % 4 === 0 ? hook : {}), shellContainer('d', 'sleep 100000')],
    });
    for (const [i, name] of names.entries()) {
      await put(name, spec(i));
      await sleep(40);
    }
    for (const name of names) {
      await sleep(230);
      await removeManifest(agent, `${name}.yaml`);
    }
    await allGone('early', 60_000);
    assert.deepEqual([...(await shownPods(agent)).keys()], []);
  });
});
