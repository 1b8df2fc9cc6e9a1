import assert from 'node:assert/strict';
import { access, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cgroupFolders, cgroupHierarchies, pidsInCgroups } from '../../scripts/node/cgroups.ts';
import {
  type AgentWorld,
  containerOf,
  putManifest,
  removeManifest,
  shownPods,
  startAgentWorld,
  testPod,
  until,
  untilReady,
} from './agent-world.ts';

describe('a pod whose control group is taken away', () => {
  let world: AgentWorld;
  before(async () => {
    world = await startAgentWorld({ config: { syncFrequency: '1s' } });
  });
  after(() => world.stop());

  /** Takes the pod's group away in one hierarchy, its processes moved elsewhere first. Returns its path there. */
  async function takeAway(uid: string): Promise<string> {
    const root = world.containerd.cgroupRoot;
    const hierarchy = (await cgroupHierarchies()).find((h) => h.version === 2 || h.controllers.includes('pids'));
    assert.ok(hierarchy);
    const parked = join(hierarchy.mountpoint, root, 'parked');
    await mkdir(parked, { recursive: true });
    const folders = (await cgroupFolders(root)).filter((f) => f.startsWith(`${hierarchy.mountpoint}/`) && f.includes(`/pod${uid}`));
    for (const pid of await pidsInCgroups(folders)) await writeFile(join(parked, 'cgroup.procs'), String(pid));
    for (const folder of folders) await rmdir(folder);
    return folders.at(-1) ?? assert.fail('no group of the pod');
  }

  it('is stopped and begins anew, with its limits', async () => {
    const { agent } = world;
    await putManifest(agent, 'lost.yaml', testPod('lost', ['sleep', '100000']));
    await putManifest(agent, 'other.yaml', testPod('other', ['sleep', '100000']));
    await untilReady(agent, 'lost');
    await untilReady(agent, 'other');
    const other = await containerOf(agent, 'other');
    const uid = (await shownPods(agent)).get('lost')?.metadata.uid ?? '';
    const group = await takeAway(uid);
    await until(agent, 'started anew', async () => {
      const now = await containerOf(agent, 'lost');
      return now?.restartCount === 1 && now.state?.running !== undefined;
    });
    await access(group);
    assert.match(await agent.log(), /control group of the pod is gone/);
    assert.deepEqual(await containerOf(agent, 'other'), other);
    await removeManifest(agent, 'lost.yaml');
  });

  it('is over when nothing of it may run twice', async () => {
    const { agent } = world;
    await putManifest(agent, 'once.yaml', testPod('once', ['sleep', '100000'], { spec: { restartPolicy: 'Never' } }));
    await untilReady(agent, 'once');
    await takeAway((await shownPods(agent)).get('once')?.metadata.uid ?? '');
    await until(agent, 'failed', async () => (await shownPods(agent)).get('once')?.status?.phase === 'Failed');
    assert.equal((await containerOf(agent, 'once'))?.restartCount, 0);
  });
});
