import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod, ResourceRequirements } from '../../src/api/types.ts';
import { CgroupError } from '../../src/host/cgroups/cgroup-fs.ts';
import { type CgroupLayout, detectLayout } from '../../src/host/cgroups/layout.ts';
import { type NodeCgroupFs, openCgroupFs } from '../../src/host/cgroups/node-cgroup-fs.ts';
import { isSwapAccounted } from '../../src/host/cgroups/swap.ts';
import { systemClock } from '../../src/host/clock.ts';
import { readMachine } from '../../src/host/machine.ts';
import { readMounts } from '../../src/host/mounts.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { podsLimits } from '../../src/resources/node-allocatable.ts';
import { PodCgroups, type PodCgroupsOptions, podCgroupsScope } from '../../src/resources/pod-cgroups.ts';

/** A group of this run's own above everything that the tests make. */
const root = `/kts-test-${process.pid}`;
const MiB = 1024 * 1024;

function pod(uid: string, resources?: ResourceRequirements): Pod {
  const container = { name: 'c', image: 'i', ...(resources === undefined ? {} : { resources }) };
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [container] } };
}

const guaranteed = pod('g-1', { requests: { cpu: '500m', memory: '64Mi' }, limits: { cpu: '500m', memory: '64Mi' } });
const burstable = pod('b-1', { requests: { cpu: '250m' } });
const bestEffort = pod('e-1');

describe('control groups on the real kernel', () => {
  let layout: CgroupLayout;
  let rootFs: NodeCgroupFs;
  let fs: NodeCgroupFs;
  let options: PodCgroupsOptions;
  let cgroups: PodCgroups;
  const warnings: unknown[] = [];

  before(async () => {
    layout = detectLayout(await readMounts());
    rootFs = await openCgroupFs(root, systemClock);
    assert.deepEqual(await rootFs.create(root, {}), []);
    const machine = await readMachine();
    options = {
      cgroupDriver: 'cgroupfs',
      cgroupRoot: root,
      cgroupsPerQOS: true,
      podPidsLimit: 123,
      cpuCFSQuota: true,
      cpuCFSQuotaPeriodUs: 100_000,
      memoryQoS: true,
      memoryReservationPolicy: 'None',
      limits: podsLimits(machine, { systemReserved: { memory: '256Mi', cpu: '100m', pid: '1000' }, kubeReserved: {}, evictionHard: {} }, [
        'pods',
      ]),
    };
    fs = await openCgroupFs(podCgroupsScope(options), systemClock);
    cgroups = new PodCgroups(options, { fs, log: { ...silentLogger, warn: (_, values) => warnings.push(values) } });
    await cgroups.setup();
  });

  after(async () => {
    await rootFs.kill(root);
    await rootFs.remove(root);
  });

  /** Content of a file under either version's name. */
  async function value(path: string, v1File: string, v2File: string): Promise<string> {
    const file = layout.version === 1 ? v1File : v2File;
    const directory = layout.version === 1 ? (layout.controllers.get(file.split('.')[0] ?? '') ?? '') : layout.mountPoint;
    return (await readFile(join(directory, path, file), 'utf8')).trim();
  }
  const directories = (path: string) =>
    layout.version === 1
      ? [...layout.controllers.values(), ...(layout.unified ?? '').split('\n')].filter(Boolean).map((d) => join(d, path))
      : [join(layout.mountPoint, path)];
  const isThere = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    );

  it('sets the limits of all pods, without a refusal', async () => {
    const kubepods = `${root}/kubepods`;
    const { cpu, memory, pids } = options.limits;
    assert.deepEqual(warnings, []);
    assert.equal(Number(await value(kubepods, 'memory.limit_in_bytes', 'memory.max')), Math.floor(memory / 4096) * 4096);
    assert.equal(await value(kubepods, 'pids.max', 'pids.max'), String(pids));
    if (layout.version === 1) assert.equal(await value(kubepods, 'cpu.shares', ''), String(Math.trunc((cpu * 1024) / 1000)));
    assert.equal(await value(`${kubepods}/besteffort`, 'cpu.shares', 'cpu.weight'), layout.version === 1 ? '2' : '1');
  });

  it('gives new groups the CPUs and memory nodes of the group above', async () => {
    await cgroups.ensurePod(bestEffort);
    if (layout.version !== 1) return assert.ok(await cgroups.exists(bestEffort));
    const path = `${root}/kubepods/besteffort/pode-1`;
    assert.equal(await value(path, 'cpuset.cpus', ''), await value('/', 'cpuset.cpus', ''));
    assert.equal(await value(path, 'cpuset.mems', ''), await value('/', 'cpuset.mems', ''));
  });

  it('makes the groups of pods with their limits, and the share of the class', async () => {
    await cgroups.ensurePod(guaranteed);
    await cgroups.ensurePod(burstable);
    const g = `${root}/kubepods/podg-1`;
    assert.equal(cgroups.parentFor(guaranteed), g);
    assert.equal(await value(g, 'memory.limit_in_bytes', 'memory.max'), String(64 * MiB));
    assert.equal(await value(g, 'pids.max', 'pids.max'), '123');
    assert.equal(await value(g, 'cpu.cfs_quota_us', 'cpu.max'), layout.version === 1 ? '50000' : '50000 100000');
    assert.equal(await value(`${root}/kubepods/burstable/podb-1`, 'cpu.shares', 'cpu.weight'), layout.version === 1 ? '256' : '10');
    assert.equal(await value(`${root}/kubepods/burstable`, 'cpu.shares', 'cpu.weight'), layout.version === 1 ? '256' : '10');
    assert.ok(await cgroups.exists(guaranteed));
    assert.deepEqual(warnings, []);
  });

  it('finds the pods again, as after a restart', async () => {
    const found = await new PodCgroups(options, { fs, log: silentLogger }).listPods(true);
    assert.deepEqual(found.map(({ uid, qos }) => `${uid} ${qos}`).sort(), ['b-1 Burstable', 'e-1 BestEffort', 'g-1 Guaranteed']);
  });

  it('is quick: a pod in a few milliseconds', async () => {
    const began = systemClock.monotonic();
    for (let i = 0; i < 10; i++) await cgroups.ensurePod(pod(`q-${i}`, { requests: { cpu: '10m' } }));
    const each = (systemClock.monotonic() - began) / 10;
    for (let i = 0; i < 10; i++) await cgroups.destroyPod(pod(`q-${i}`, { requests: { cpu: '10m' } }));
    assert.ok(each < 25, `${each} ms`);
  });

  it('kills what is left in a pod, removes it everywhere and leaves the others', async () => {
    const path = `${root}/kubepods/podg-1`;
    const nested = `${path}/container`;
    await fs.create(nested, {});
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    try {
      for (const directory of directories(nested))
        if (await isThere(directory)) await writeFile(join(directory, 'cgroup.procs'), String(child.pid));
      assert.deepEqual(await fs.pids(path), [child.pid]);
      await assert.rejects(fs.remove(path), (err) => err instanceof CgroupError && err.code === 'Busy');
      const exited = once(child, 'exit');
      await cgroups.destroyPod(guaranteed);
      assert.equal((await exited)[1], 'SIGKILL');
    } finally {
      endChild(child);
    }
    for (const directory of directories(path)) assert.equal(await isThere(directory), false, directory);
    assert.ok(await cgroups.exists(burstable));
    await cgroups.destroyPod(guaranteed);
  });

  it('sweeps pods that nobody knows, also those left in one hierarchy only', async () => {
    if (layout.version === 1) {
      const half = new (await import('../../src/host/cgroups/node-cgroup-fs.ts')).NodeCgroupFs({
        layout: { version: 1, controllers: new Map([...layout.controllers].filter(([name]) => name === 'memory')) },
        scope: `${root}/kubepods`,
        clock: systemClock,
      });
      await half.create(`${root}/kubepods/podhalf`, {});
    }
    const fresh = new PodCgroups(options, { fs, log: silentLogger });
    await fresh.sweep((uid) => uid === 'b-1');
    assert.deepEqual(
      (await fresh.listPods(true)).map(({ uid }) => uid),
      ['b-1'],
    );
  });

  it('cuts the CPU of a pod to the minimum', async () => {
    await cgroups.reduceCpuToMin('b-1');
    assert.equal(await value(`${root}/kubepods/burstable/podb-1`, 'cpu.shares', 'cpu.weight'), layout.version === 1 ? '2' : '1');
  });

  it('reports what the kernel refuses and goes on', async () => {
    const refusals = await fs.set(`${root}/kubepods`, { cpuPeriod: 1, memory: options.limits.memory });
    assert.deepEqual(
      refusals.map(({ code }) => code),
      ['EINVAL'],
    );
  });

  it('knows whether swap is accounted', async () => {
    const file = layout.version === 1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max';
    const memory = directories(`${root}/kubepods`).find((directory) => layout.version === 2 || directory.includes('memory'));
    const there = await isThere(join(memory ?? '', file));
    assert.equal(await isSwapAccounted(fs, `${root}/kubepods`), there);
  });

  it('never touches a group outside its scope', async () => {
    for (const path of ['/', root, '/kubepods', `${root}/other`]) {
      await assert.rejects(fs.create(path, {}), /not below/);
      await assert.rejects(fs.remove(path), /not below/);
    }
  });

  it('wants an existing root', async () => {
    const missing = { ...options, cgroupRoot: `${root}-missing` };
    await assert.rejects(new PodCgroups(missing, { fs, log: silentLogger }).setup(), /cgroupRoot.*does not exist/);
  });
});

function endChild(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
}
