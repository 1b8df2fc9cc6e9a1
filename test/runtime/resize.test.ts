import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../src/api/types.ts';
import type { Agent } from '../support/agent.ts';
import type { PrivateContainerd } from '../support/containerd.ts';
import { groupLimits, memoryUsage } from '../support/podCgroups.ts';
import { STAY } from '../support/shellContainer.ts';
import { type AgentWorld, putManifest, removeManifest, shownPods, startAgentWorld, testPod, until, untilReady } from './agent-world.ts';

const Mi = 2 ** 20;
/** Holds more than 12 MiB in memory, and ends at once when it is told to. */
const hold = ['sh', '-c', 'trap "exit 0" TERM; x=$(head -c 12582912 /dev/zero | tr "\\0" x); while true; do sleep 0.1; done'];
const light = ['sh', '-c', STAY];
const size = (milli: number, mi: number) => ({ cpu: `${milli}m`, memory: `${mi}Mi` });

/** A manifest that names its UID is the same pod after a change: what it asks for then is a resize. */
describe('in-place resize on a real containerd', () => {
  let world: AgentWorld;
  let containerd: PrivateContainerd;
  let agent: Agent;

  before(async () => {
    world = await startAgentWorld();
    ({ agent, containerd } = world);
  });
  after(() => world?.stop());

  const put = async (name: string, milli: number, mi: number, { command = light, restart = false } = {}) => {
    const resources = { requests: size(milli, mi), limits: size(milli, mi) };
    const resizePolicy = restart ? [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] : [];
    const manifest = testPod(name, command, { container: { resources, resizePolicy } }) as { metadata: object };
    await putManifest(agent, `${name}.yaml`, { ...manifest, metadata: { name, uid: `uid-${name}` } });
  };
  const pod = async (name: string): Promise<Pod | undefined> => (await shownPods(agent)).get(name);
  const container = async (name: string) => (await pod(name))?.status?.containerStatuses?.[0];
  const idOf = async (name: string) => (await container(name))?.containerID?.replace(/^.*\/\//, '') ?? '';
  const condition = async (name: string) => (await pod(name))?.status?.conditions?.find((c) => c.type.startsWith('PodResize'));
  const inForce = async (name: string) => {
    const [group, own] = [
      await groupLimits(containerd.cgroupRoot, `poduid-${name}`),
      await groupLimits(containerd.cgroupRoot, await idOf(name)),
    ];
    return [group, own].map((g) => `${g.cpuQuota / 100} ${g.memory / Mi}`);
  };
  const shows = (name: string, milli: number, mi: number) =>
    until(agent, `${name} shown with ${milli} and ${mi}`, async () => {
      const status = await container(name);
      const same = JSON.stringify(status?.resources?.limits) === JSON.stringify(size(milli, mi));
      return same && status?.state?.running !== undefined && (await condition(name)) === undefined && status;
    });

  it('grows and shrinks a running container and its pod', async () => {
    await put('grow', 100, 64);
    await untilReady(agent, 'grow');
    const id = await idOf('grow');
    assert.deepEqual(await inForce('grow'), ['100 64', '100 64']);
    await put('grow', 300, 128);
    await shows('grow', 300, 128);
    assert.deepEqual(await inForce('grow'), ['300 128', '300 128']);
    await put('grow', 50, 48);
    const { restartCount, allocatedResources } = await shows('grow', 50, 48);
    assert.deepEqual(await inForce('grow'), ['50 48', '50 48']);
    assert.deepEqual([restartCount, allocatedResources, await idOf('grow')], [0, size(50, 48), id]);
    await removeManifest(agent, 'grow.yaml');
  });

  it('restarts a container once where its policy wants it', async () => {
    await put('again', 100, 64, { restart: true });
    await untilReady(agent, 'again');
    await put('again', 100, 96, { restart: true });
    const { restartCount } = await shows('again', 100, 96);
    assert.equal(restartCount, 1);
    assert.deepEqual(await inForce('again'), ['100 96', '100 96']);
    await removeManifest(agent, 'again.yaml');
  });

  it('does not take memory away that is in use, says so, and goes on with the next size', async () => {
    await put('held', 500, 64, { command: hold });
    await untilReady(agent, 'held');
    await until(agent, 'memory in use', async () => (await memoryUsage(containerd.cgroupRoot, await idOf('held'))) > 12 * Mi);
    await put('held', 500, 8, { command: hold });
    const fault = await until(agent, 'an error', async () => {
      const c = await condition('held');
      return c?.reason === 'Error' && c;
    });
    assert.match(
      fault.message ?? '',
      /^cannot decrease memory limits: .*attempting to set pod memory limit \(8388608\) below current usage \(\d+\)/,
    );
    assert.deepEqual(await inForce('held'), ['500 64', '500 64']);
    await put('held', 500, 80, { command: hold });
    await shows('held', 500, 80);
    assert.deepEqual(await inForce('held'), ['500 80', '500 80']);
    await removeManifest(agent, 'held.yaml');
  });

  it('is completed by the next agent when this one is killed, and nothing restarts', async () => {
    await put('killed', 100, 64);
    await untilReady(agent, 'killed');
    const id = await idOf('killed');
    await put('killed', 200, 96);
    await agent.kill('SIGKILL');
    await agent.start();
    await agent.waitHealthy();
    await shows('killed', 200, 96);
    assert.deepEqual(await inForce('killed'), ['200 96', '200 96']);
    assert.equal(await idOf('killed'), id);
    for (const file of ['allocated_pods_state', 'actuated_pods_state']) {
      const text = await until(agent, `${file} written`, async () => {
        const { data } = JSON.parse(await readFile(join(agent.rootDir, file), 'utf8')) as { data: string };
        return data.includes('uid-killed') && data;
      });
      const { entries } = JSON.parse(text) as { entries: Record<string, { ContainerResources: object }> };
      assert.ok(entries['uid-killed']?.ContainerResources);
    }
    await removeManifest(agent, 'killed.yaml');
  });
});
