import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Pod, ResourceRequirements } from '../api/types.ts';
import type { CgroupFs, CgroupRefusal } from '../host/cgroups/cgroup-fs.ts';
import { CgroupError } from '../host/cgroups/cgroup-fs.ts';
import { cgroupJoin, isWithin, parentPath } from '../host/cgroups/path.ts';
import type { CgroupSettings } from '../host/cgroups/settings.ts';
import { silentLogger } from '../observe/log.ts';
import { PodCgroups, type PodCgroupsOptions, podCgroupsScope } from './pod-cgroups.ts';

/** Control groups in memory. */
class FakeCgroupFs implements CgroupFs {
  version: 1 | 2 = 1;
  readonly groups = new Map<string, CgroupSettings>([['/', {}]]);
  readonly busy = new Set<string>();
  readonly refuse = new Set<keyof CgroupSettings>();
  readonly calls: string[] = [];

  hasController(): boolean {
    return true;
  }
  exists(path: string): Promise<boolean> {
    return Promise.resolve(this.groups.has(path));
  }
  create(path: string, settings: CgroupSettings): Promise<CgroupRefusal[]> {
    this.calls.push(`create ${path}`);
    if (!this.groups.has(path)) this.groups.set(path, {});
    return this.set(path, settings);
  }
  set(path: string, settings: CgroupSettings): Promise<CgroupRefusal[]> {
    if (!this.calls.at(-1)?.endsWith(path)) this.calls.push(`set ${path}`);
    const refused = [...this.refuse].filter((key) => settings[key] !== undefined);
    const taken = Object.entries(settings).filter(([key]) => !refused.includes(key as keyof CgroupSettings));
    this.groups.set(path, { ...this.groups.get(path), ...Object.fromEntries(taken) });
    return Promise.resolve(refused.map((file) => ({ path, file, value: '', code: 'EACCES', message: 'denied' })));
  }
  children(path: string): Promise<string[]> {
    const below = [...this.groups.keys()].filter((group) => group !== '/' && parentPath(group) === path);
    return Promise.resolve(below.map((group) => group.slice(group.lastIndexOf('/') + 1)));
  }
  used: string | undefined;
  read(): Promise<string | undefined> {
    return Promise.resolve(this.used);
  }
  pids(): Promise<number[]> {
    return Promise.resolve([]);
  }
  kill(path: string): Promise<void> {
    this.calls.push(`kill ${path}`);
    this.busy.delete(path);
    return Promise.resolve();
  }
  remove(path: string): Promise<void> {
    this.calls.push(`remove ${path}`);
    if (this.busy.has(path)) return Promise.reject(new CgroupError('Busy', 'remove', path, 'busy'));
    for (const group of this.groups.keys()) if (isWithin(group, path)) this.groups.delete(group);
    return Promise.resolve();
  }
}

const MiB = 1024 ** 2;
const page = 2 * MiB;
const options: PodCgroupsOptions = {
  cgroupDriver: 'cgroupfs',
  cgroupRoot: '/',
  cgroupsPerQOS: true,
  podPidsLimit: -1,
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  memoryQoS: true,
  memoryReservationPolicy: 'None',
  limits: { cpu: 2000, memory: 4096 * MiB, pids: 1000, hugepages: new Map([[page, 0]]) },
};

function pod(uid: string, resources?: ResourceRequirements): Pod {
  const container = { name: 'c', image: 'i', ...(resources === undefined ? {} : { resources }) };
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [container] } };
}
const guaranteed = pod('g', { requests: { cpu: '1', memory: '64Mi' }, limits: { cpu: '1', memory: '64Mi' } });
const burstable = (uid: string, cpu: string) => pod(uid, { requests: { cpu, memory: '16Mi' } });

describe('PodCgroups', () => {
  let fs: FakeCgroupFs;
  let warnings: string[];
  let events: string[];
  const make = (more: Partial<PodCgroupsOptions> = {}, hasVolumes?: (uid: string) => Promise<boolean>) =>
    new PodCgroups(
      { ...options, ...more },
      {
        fs,
        log: { ...silentLogger, warn: (msg) => warnings.push(msg), error: (_, msg) => warnings.push(msg) },
        nodeEvent: (type, reason) => events.push(`${type} ${reason}`),
        ...(hasVolumes === undefined ? {} : { hasVolumes }),
      },
    );
  beforeEach(() => {
    fs = new FakeCgroupFs();
    warnings = [];
    events = [];
  });

  it('sets up the node and the classes', async () => {
    await make().setup();
    assert.deepEqual(fs.groups.get('/kubepods'), {
      cpuShares: 2048,
      memory: 4096 * MiB,
      pids: 1000,
      hugetlb: new Map([[page, 0]]),
      unified: { 'memory.min': '0', 'memory.low': '0' },
    });
    assert.deepEqual(fs.groups.get('/kubepods/besteffort'), { cpuShares: 2, hugetlb: new Map([[page, 2 ** 62]]) });
    assert.ok(fs.groups.has('/kubepods/burstable'));
    assert.deepEqual(events, ['Normal NodeAllocatableEnforced']);
  });

  it('names the field of what it cannot do', async () => {
    await assert.rejects(make({ cgroupRoot: '/nowhere' }).setup(), /cgroupRoot: control group "\/nowhere" does not exist/);
    assert.equal(podCgroupsScope({ cgroupDriver: 'cgroupfs', cgroupRoot: '/my', cgroupsPerQOS: true }), '/my/kubepods');
    assert.equal(podCgroupsScope({ cgroupDriver: 'systemd', cgroupRoot: '/', cgroupsPerQOS: true }), '/kubepods.slice');
  });

  it('names groups as systemd does, and finds their pods again', async () => {
    const cgroups = make({ cgroupDriver: 'systemd' });
    await cgroups.setup();
    await cgroups.ensurePod(burstable('1f-2e', '100m'));
    await cgroups.ensurePod(guaranteed);
    const burstablePod = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f_2e.slice';
    assert.ok(fs.groups.has(burstablePod));
    assert.equal(cgroups.parentFor(burstable('1f-2e', '100m')), 'kubepods-burstable-pod1f_2e.slice');
    const found = (await cgroups.listPods()).map(({ uid, qos }) => `${qos} ${uid}`);
    assert.deepEqual(found.sort(), ['Burstable 1f-2e', 'Guaranteed g']);
    await cgroups.sweep((uid) => uid === 'g');
    assert.ok(!fs.groups.has(burstablePod));
  });

  it('warns once of each refusal, goes on, and tries the limits of the node again', async () => {
    fs.refuse.add('memory');
    fs.refuse.add('cpuShares');
    const cgroups = make();
    await cgroups.setup();
    await cgroups.ensurePod(burstable('a', '1'));
    await cgroups.ensurePod(burstable('b', '1'));
    await cgroups.ensurePod(guaranteed);
    // Two for the node, one for each class, two for all the pods together.
    assert.equal(warnings.length, 6, warnings.join('\n'));
    assert.deepEqual(events, ['Warning FailedNodeAllocatableEnforcement']);
    fs.refuse.clear();
    await cgroups.updateQOS([]);
    await cgroups.updateQOS([]);
    assert.equal(fs.groups.get('/kubepods')?.memory, 4096 * MiB);
    assert.deepEqual(events, ['Warning FailedNodeAllocatableEnforcement', 'Normal NodeAllocatableEnforced']);
  });

  it('makes the group of a pod with its limits', async () => {
    const cgroups = make({ podPidsLimit: 50 });
    await cgroups.ensurePod(guaranteed);
    assert.equal(cgroups.parentFor(guaranteed), '/kubepods/podg');
    assert.deepEqual(fs.groups.get('/kubepods/podg'), {
      cpuShares: 1024,
      cpuPeriod: 100_000,
      cpuQuota: 100_000,
      memory: 64 * MiB,
      pids: 50,
      hugetlb: new Map([[page, 0]]),
      unified: {},
    });
    await cgroups.ensurePod(pod('e'));
    assert.deepEqual(fs.groups.get('/kubepods/besteffort/pode'), { cpuShares: 2, pids: 50, hugetlb: new Map([[page, 0]]), unified: {} });
    assert.equal(await cgroups.exists(guaranteed), true);
    assert.equal(await cgroups.exists(pod('x')), false);
  });

  it('leaves a pod alone that is in order, and makes one again that is gone', async () => {
    const cgroups = make();
    await cgroups.ensurePod(guaranteed);
    const before = fs.calls.length;
    await cgroups.ensurePod(guaranteed);
    assert.equal(fs.calls.length, before);
    fs.groups.delete('/kubepods/podg');
    await cgroups.ensurePod(guaranteed);
    assert.ok(fs.groups.has('/kubepods/podg'));
  });

  it('gives the burstable class the sum of its requests', async () => {
    const cgroups = make();
    await cgroups.setup();
    await cgroups.ensurePod(burstable('a', '500m'));
    await cgroups.ensurePod(burstable('b', '1'));
    await cgroups.ensurePod(guaranteed);
    const shares = () => fs.groups.get('/kubepods/burstable')?.cpuShares;
    assert.equal(shares(), 1536);
    await cgroups.destroyPod(burstable('b', '1'));
    assert.equal(shares(), 512);
    await cgroups.updateQOS([burstable('a', '2')]);
    assert.equal(shares(), 2048);
    await cgroups.updateQOS([]);
    assert.equal(shares(), 2);
  });

  it('ends with the newest sum when pods start together and the writes take their time', async () => {
    const cgroups = make();
    await cgroups.setup();
    const set = fs.set.bind(fs);
    let slow = 3;
    fs.set = async (path, settings) => {
      // The first write is the slowest.
      for (let turn = slow-- * 10; turn > 0; turn--) await Promise.resolve();
      return set(path, settings);
    };
    await Promise.all(['a', 'b', 'c'].map((uid) => cgroups.ensurePod(burstable(uid, '1'))));
    assert.equal(fs.groups.get('/kubepods/burstable')?.cpuShares, 3072);
  });

  it('a pod that owns CPUs has no quota', async () => {
    const owners = new PodCgroups(options, {
      fs,
      log: silentLogger,
      hasExclusiveCpus: (pod) => pod.metadata.uid === guaranteed.metadata.uid,
    });
    await owners.setup();
    await owners.ensurePod(guaranteed);
    assert.equal(fs.groups.get(`/kubepods/pod${guaranteed.metadata.uid}`)?.cpuQuota, -1);
  });

  it('keeps memory for the classes above, but holds no class below what it uses', async () => {
    const cgroups = make({ qosReserve: { percent: 50, allocatable: 1000 * MiB } });
    await cgroups.setup();
    fs.used = `${900 * MiB}\n`;
    await cgroups.ensurePod(pod('g', { requests: { cpu: '1', memory: '100Mi' }, limits: { cpu: '1', memory: '100Mi' } }));
    await cgroups.ensurePod(pod('b', { requests: { memory: '200Mi' } }));
    assert.equal(fs.groups.get('/kubepods/burstable')?.memory, 950 * MiB);
    assert.equal(fs.groups.get('/kubepods/besteffort')?.memory, 900 * MiB);
  });

  it('protects memory in tiers on v2', async () => {
    fs.version = 2;
    const cgroups = make({ memoryReservationPolicy: 'TieredReservation' });
    await cgroups.setup();
    await cgroups.ensurePod(burstable('a', '1'));
    await cgroups.ensurePod(guaranteed);
    assert.deepEqual(fs.groups.get('/kubepods')?.unified, { 'memory.min': String(80 * MiB), 'memory.low': String(16 * MiB) });
    assert.deepEqual(fs.groups.get('/kubepods/burstable')?.unified, { 'memory.low': String(16 * MiB) });
    assert.deepEqual(fs.groups.get('/kubepods/podg')?.unified, { 'memory.min': String(64 * MiB) });
  });

  it('kills only what keeps a group from being removed', async () => {
    const cgroups = make();
    await cgroups.ensurePod(guaranteed);
    await cgroups.ensurePod(pod('e'));
    fs.busy.add('/kubepods/podg');
    await cgroups.destroyPod(guaranteed);
    await cgroups.destroyPod(pod('e'));
    assert.deepEqual(
      fs.calls.filter((call) => call.startsWith('kill')),
      ['kill /kubepods/podg'],
    );
    assert.deepEqual(await cgroups.listPods(), []);
  });

  it('removes a pod where it was made, also when its class reads otherwise now', async () => {
    const cgroups = make();
    await cgroups.ensurePod(burstable('a', '1'));
    await cgroups.destroyPod(pod('a'));
    assert.deepEqual(await cgroups.listPods(), []);
  });

  it('sweeps pods that nobody knows and nothing else', async () => {
    const cgroups = make();
    for (const path of [
      '/kubepods/poda',
      '/kubepods/burstable/podb',
      '/kubepods/burstable/podc',
      '/kubepods/besteffort/other',
      '/other/podx',
    ]) {
      await fs.create(cgroupJoin('/', ...path.slice(1).split('/')), {});
    }
    await cgroups.sweep((uid) => uid === 'b');
    assert.ok(!fs.groups.has('/kubepods/poda') && !fs.groups.has('/kubepods/burstable/podc'));
    assert.ok(fs.groups.has('/kubepods/burstable/podb') && fs.groups.has('/kubepods/besteffort/other') && fs.groups.has('/other/podx'));
  });

  it('goes on sweeping when one pod cannot be removed, and spares what still has volumes', async () => {
    const cgroups = make({}, (uid) => Promise.resolve(uid === 'v'));
    for (const uid of ['v', 'stuck', 'z']) await fs.create(`/kubepods/pod${uid}`, { cpuShares: 99 });
    fs.kill = () => Promise.reject(new CgroupError('ProcessesRemain', 'empty', '/', 'pid 5'));
    fs.busy.add('/kubepods/podstuck');
    await cgroups.sweep(() => false);
    assert.deepEqual((await cgroups.listPods()).map(({ uid }) => uid).sort(), ['stuck', 'v']);
    assert.equal(fs.groups.get('/kubepods/podv')?.cpuShares, 2);
    assert.equal(warnings.length, 1);
  });

  it('does nothing without groups per class', async () => {
    const cgroups = make({ cgroupsPerQOS: false, cgroupDriver: 'systemd' });
    await cgroups.setup();
    await cgroups.ensurePod(guaranteed);
    await cgroups.updateQOS([guaranteed]);
    await cgroups.sweep(() => false);
    await cgroups.destroyPod(guaranteed);
    assert.deepEqual([cgroups.parentFor(guaranteed), await cgroups.exists(guaranteed), fs.calls], ['', true, []]);
  });
});
