import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ContainerStatus } from '../../src/api/types.ts';
import type { ConnectedRuntime } from '../../src/cri/connect.ts';
import type { Agent } from '../support/agent.ts';
import { connectTo } from '../support/containerd.ts';
import { STAY, shellContainer } from '../support/shellContainer.ts';
import { type AgentWorld, putManifest, removeManifest, shownPods, startAgentWorld, testPod, until, untilReady } from './agent-world.ts';

const on42 = (action: string) => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [42] } }],
});
const shared = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
const volumes = [{ name: 'v', emptyDir: {} }];
/** Ends once with 42, and stays the next time. */
const once = `if [ -e /v/done ]; then ${STAY}; else touch /v/done; sleep 1; exit 42; fi`;

describe('restarts on a real containerd', () => {
  let world: AgentWorld;
  let agent: Agent;
  let connected: ConnectedRuntime;

  before(async () => {
    world = await startAgentWorld({ config: { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } } });
    ({ agent } = world);
    connected = await connectTo(world.containerd);
  });
  after(async () => {
    connected?.close();
    await world?.stop();
  });

  const put = (name: string, spec: object) => putManifest(agent, `${name}.yaml`, testPod(name, [], { spec }));
  const statusOf = async (pod: string) => (await shownPods(agent)).get(pod)?.status;
  const statuses = async (pod: string): Promise<Map<string, ContainerStatus>> => {
    const status = await statusOf(pod);
    return new Map([...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((s) => [s.name, s]));
  };

  it('RestartAllContainers: all begin anew in the same sandbox, from the first init container on; counts and logs go on', async () => {
    await put('all', {
      restartPolicy: 'Never',
      volumes,
      initContainers: [shellContainer('init', 'echo init'), shellContainer('side', STAY, { restartPolicy: 'Always' })],
      containers: [shellContainer('c', STAY), shellContainer('source', once, { ...shared, ...on42('RestartAllContainers') })],
    });
    await untilReady(agent, 'all');
    const ip = (await statusOf('all'))?.podIP;
    const again = await until(agent, 'all restarted', async () => {
      const s = await statuses('all');
      return [...s.values()].every((c) => c.restartCount === 1) && s.get('source')?.state?.running ? s : undefined;
    });
    assert.deepEqual([...again.keys()].sort(), ['c', 'init', 'side', 'source']);
    assert.deepEqual(again.get('c')?.lastState?.terminated?.reason, 'RestartingAllContainers');
    assert.equal(again.get('init')?.state?.terminated?.exitCode, 0);
    await untilReady(agent, 'all');
    const status = await statusOf('all');
    assert.equal(status?.podIP, ip);
    assert.equal(status?.conditions?.find((c) => c.type === 'AllContainersRestarting')?.status, 'False');
    await removeManifest(agent, 'all.yaml');
  });

  it('a rule restarts a container that its policy would leave, and only on its exit codes', async () => {
    await put('rule', { restartPolicy: 'Never', volumes, containers: [shellContainer('source', once, { ...shared, ...on42('Restart') })] });
    await put('other', { restartPolicy: 'Never', containers: [shellContainer('source', 'exit 7', on42('Restart'))] });
    const source = await until(agent, 'restarted', async () => {
      const s = (await statuses('rule')).get('source');
      return s?.restartCount === 1 && s.state?.running ? s : undefined;
    });
    assert.equal(source.lastState?.terminated?.exitCode, 42);
    await until(agent, 'failed', async () => (await statusOf('other'))?.phase === 'Failed');
    assert.equal((await statuses('other')).get('source')?.restartCount, 0);
    for (const name of ['rule', 'other']) await removeManifest(agent, `${name}.yaml`);
  });

  it('a container has a policy of its own', async () => {
    await put('own', {
      restartPolicy: 'Never',
      containers: [
        shellContainer('c', STAY),
        shellContainer('again', 'exit 1', { restartPolicy: 'OnFailure' }),
        shellContainer('no', 'exit 1'),
      ],
    });
    const s = await until(agent, 'restarted', async () => {
      const found = await statuses('own');
      return (found.get('again')?.restartCount ?? 0) >= 1 ? found : undefined;
    });
    assert.deepEqual([s.get('no')?.restartCount, s.get('no')?.state?.terminated?.exitCode, s.get('c')?.restartCount], [0, 1, 0]);
    await removeManifest(agent, 'own.yaml');
  });

  it('an init container that fails again and again leaves one dead instance, not one for each try', async () => {
    await put('fails', { initContainers: [shellContainer('bad', 'exit 3')], containers: [shellContainer('c', STAY)] });
    await until(agent, 'third try', async () => ((await statuses('fails')).get('bad')?.restartCount ?? 0) >= 3);
    const left = (await connected.runtime.listContainers()).filter((c) => c.labels['io.kubernetes.container.name'] === 'bad');
    assert.ok(left.length >= 1 && left.length <= 2, `${left.length} instances`);
    await removeManifest(agent, 'fails.yaml');
  });

  it('a container behind one with a postStart hook starts when the hook has ended; others are not held up', async () => {
    const lifecycle = { postStart: { exec: { command: ['sh', '-c', 'sleep 2; exit 0'] } } };
    await put('hooked', { containers: [shellContainer('first', STAY, { lifecycle }), shellContainer('second', STAY)] });
    await untilReady(agent, 'hooked');
    const at = (s: ContainerStatus | undefined) => Date.parse(s?.state?.running?.startedAt ?? '');
    const s = await statuses('hooked');
    assert.ok(at(s.get('second')) - at(s.get('first')) >= 1_000, 'the second one waited');
    await removeManifest(agent, 'hooked.yaml');
  });
});
