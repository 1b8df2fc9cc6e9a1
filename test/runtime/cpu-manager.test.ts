import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import type { Pod } from '../../src/api/types.ts';
import { type NodeCgroupFs, openCgroupFs } from '../../src/host/cgroups/node-cgroup-fs.ts';
import { systemClock } from '../../src/host/clock.ts';
import type { Agent } from '../support/agent.ts';
import type { PrivateContainerd } from '../support/containerd.ts';
import { type AgentWorld, putManifest, removeManifest, shownPods, startAgentWorld, testPod, until, untilReady } from './agent-world.ts';

const LastCpu = cpus().length - 1;
const reserved = LastCpu === 1 ? '0' : `0-${LastCpu - 1}`;
const everywhere = `0-${LastCpu}`;
const guaranteed = { resources: { requests: { cpu: '1', memory: '32Mi' }, limits: { cpu: '1', memory: '32Mi' } } };

/** All CPUs but the last are reserved, so that one container can own a CPU: the last. What is reserved of memory is the eviction threshold. */
const settings = {
  cpuManagerPolicy: 'static',
  reservedSystemCPUs: reserved,
  cpuManagerReconcilePeriod: '1s',
  memoryManagerPolicy: 'Static',
  evictionHard: { 'memory.available': '50Mi' },
  reservedMemory: [{ numaNode: 0, limits: { memory: '50Mi' } }],
  topologyManagerPolicy: 'single-numa-node',
};

describe('CPUs and memory of their own on a real containerd', () => {
  let world: AgentWorld;
  let containerd: PrivateContainerd;
  let agent: Agent;
  let fs: NodeCgroupFs;

  before(async () => {
    world = await startAgentWorld({ config: settings });
    ({ agent, containerd } = world);
    fs = await openCgroupFs(containerd.cgroupRoot, systemClock);
  });
  after(() => world?.stop());

  const pod = async (name: string): Promise<Pod> => {
    const found = (await shownPods(agent)).get(name);
    assert.ok(found !== undefined, `pod ${name} is shown`);
    return found;
  };
  const idOf = (p: Pod) => (p.status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '');
  const group = (p: Pod, qos: string) => `${containerd.cgroupRoot}/kubepods${qos}/pod${p.metadata.uid}`;
  const file = async (path: string, name: string) => (await fs.read(path, name))?.trim();
  const cpuset = async (name: string, qos: string) => {
    const p = await pod(name);
    return file(`${group(p, qos)}/${idOf(p)}`, 'cpuset.cpus');
  };
  const state = async () =>
    JSON.parse(await readFile(join(agent.rootDir, 'cpu_manager_state'), 'utf8')) as { defaultCpuSet: string; entries?: object };
  const untilShared = (cpusWanted: string) =>
    until(agent, `the shared container on ${cpusWanted}`, async () => (await cpuset('shared', '/besteffort')) === cpusWanted);

  it('a Guaranteed pod owns a CPU, without quota, and the others leave it', async () => {
    await putManifest(agent, 'shared.yaml', testPod('shared', ['sleep', '3600']));
    await untilReady(agent, 'shared');
    await untilShared(everywhere);
    const before = idOf(await pod('shared'));
    await putManifest(agent, 'owner.yaml', testPod('owner', ['sleep', '3600'], { container: guaranteed }));
    await untilReady(agent, 'owner');
    assert.equal(await cpuset('owner', ''), String(LastCpu));
    const owner = await pod('owner');
    if (fs.version === 1) {
      assert.equal(await file(`${group(owner, '')}/${idOf(owner)}`, 'cpu.cfs_quota_us'), '-1');
      assert.equal(await file(group(owner, ''), 'cpu.cfs_quota_us'), '-1');
    }
    await untilShared(reserved);
    assert.equal(idOf(await pod('shared')), before, 'it was not restarted');
    const { uid } = owner.metadata;
    assert.deepEqual((await state()).entries, { [uid]: { c: String(LastCpu) } });
    assert.equal((await state()).defaultCpuSet, reserved);
    const memory = JSON.parse(await readFile(join(agent.rootDir, 'memory_manager_state'), 'utf8')) as {
      entries: Record<string, Record<string, { numaAffinity: number[]; type: string; size: number }[]>>;
    };
    const [block] = memory.entries[uid]?.['c'] ?? [];
    assert.deepEqual([block?.type, block?.size, block?.numaAffinity.length], ['memory', 32 * 2 ** 20, 1]);
    assert.equal(await file(`${group(owner, '')}/${idOf(owner)}`, 'cpuset.mems'), String(block?.numaAffinity[0]));
    const metrics = await (await fetch(`${agent.url}/metrics`)).text();
    assert.match(metrics, /^kubelet_cpu_manager_exclusive_cpu_allocation_count 1$/m);
    assert.match(metrics, /^kubelet_cpu_manager_shared_pool_size_millicores 0$/m);
  });

  it('a pod for which no CPU is left is refused with the reason', async () => {
    await putManifest(agent, 'late.yaml', testPod('late', ['sleep', '3600'], { container: guaranteed }));
    const late = await until(agent, 'late refused', async () => {
      const found = (await shownPods(agent)).get('late');
      return found?.status?.phase === 'Failed' ? found : undefined;
    });
    assert.equal(late.status?.reason, 'TopologyAffinityError');
    assert.equal(late.status?.message, 'Pod was rejected: Resources cannot be allocated with Topology locality');
    await removeManifest(agent, 'late.yaml');
  });

  it('killed at any moment, the agent finds every container where it was', async () => {
    const before = [idOf(await pod('shared')), idOf(await pod('owner'))];
    const read = () =>
      Promise.all(['cpu_manager_state', 'memory_manager_state'].map((name) => readFile(join(agent.rootDir, name), 'utf8')));
    const texts = await read();
    await agent.kill();
    await agent.start();
    await agent.waitHealthy();
    await untilReady(agent, 'owner');
    await untilReady(agent, 'shared');
    assert.deepEqual([idOf(await pod('shared')), idOf(await pod('owner'))], before);
    assert.deepEqual(await read(), texts);
    assert.equal(await cpuset('owner', ''), String(LastCpu));
    assert.equal(await cpuset('shared', '/besteffort'), reserved);
  });

  it('another policy is refused while a pod owns CPUs, and the pod is named', async () => {
    const config = await readFile(agent.configFile, 'utf8');
    await agent.kill();
    await writeFile(agent.configFile, stringify({ ...(parse(config) as object), cpuManagerPolicy: 'none' }));
    await agent.start();
    while (agent.ended() === undefined) await sleep(20);
    assert.equal(agent.ended(), 'exit 1');
    const log = await agent.log();
    assert.match(
      log,
      /configured policy \\?"none\\?" differs from state checkpoint policy \\?"static\\?"; these pods own CPUs: default\/owner-/,
    );
    assert.match(log, new RegExp(`container c: ${LastCpu}\\).*drain this node and delete the CPU manager checkpoint file`));
    await writeFile(agent.configFile, config);
    await agent.start();
    await agent.waitHealthy();
    await untilReady(agent, 'owner');
  });

  it("when the owner goes, its CPU is everybody's again", async () => {
    await removeManifest(agent, 'owner.yaml');
    await untilShared(everywhere);
    assert.equal((await state()).entries, undefined);
    await removeManifest(agent, 'shared.yaml');
  });

  it('a damaged checkpoint stops the start with what to do', async () => {
    await agent.kill('SIGTERM');
    const path = join(agent.rootDir, 'cpu_manager_state');
    await writeFile(path, '{"policyName":"static","defaultCpuSet":"0","checksum":1}');
    await agent.start();
    while (agent.ended() === undefined) await sleep(20);
    assert.equal(agent.ended(), 'exit 1');
    assert.match(await agent.log(), /checkpoint is corrupted.*please drain this node and delete the CPU manager checkpoint file/);
    await rm(path);
    await agent.start();
    await agent.waitHealthy();
  });
});
