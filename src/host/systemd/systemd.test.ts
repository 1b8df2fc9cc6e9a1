import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CgroupError, type CgroupFs } from '../cgroups/cgroup-fs.ts';
import { SystemdCgroupFs } from '../cgroups/systemd-cgroup-fs.ts';
import type { Variant } from '../dbus/marshal.ts';
import { limitProperties, sliceProperties } from './slice-properties.ts';
import type { SystemdUnits, UnitProperty } from './units.ts';

const shown = (properties: readonly UnitProperty[]) =>
  Object.fromEntries(properties.map(([name, { value }]: readonly [string, Variant]) => [name, value]));
const INFINITY = 2n ** 64n - 1n;

describe('limits as properties of a slice', () => {
  it('have the names of cgroup v2', () => {
    const properties = limitProperties(2, { cpuShares: 1024, cpuQuota: 25_000, cpuPeriod: 100_000, memory: 1 << 20, pids: 10 });
    assert.deepEqual(shown(properties), {
      CPUWeight: 39n,
      CPUQuotaPeriodUSec: 100_000n,
      CPUQuotaPerSecUSec: 250_000n,
      MemoryMax: 1048576n,
      TasksMax: 10n,
    });
  });

  it('have those of cgroup v1', () => {
    assert.deepEqual(shown(limitProperties(1, { cpuShares: 512, memory: 5, unified: { 'memory.min': '1' } })), {
      CPUShares: 512n,
      MemoryLimit: 5n,
    });
  });

  it('say "no limit" in words of systemd, and never give less CPU than asked for', () => {
    assert.deepEqual(
      shown(limitProperties(2, { cpuQuota: -1, memory: -1, pids: -1, unified: { 'memory.high': 'max', 'memory.low': '7' } })),
      {
        CPUQuotaPerSecUSec: INFINITY,
        MemoryMax: INFINITY,
        TasksMax: INFINITY,
        MemoryLow: 7n,
        MemoryHigh: INFINITY,
      },
    );
    assert.deepEqual(shown(limitProperties(2, { cpuQuota: 1_001, cpuPeriod: 100_000 }))['CPUQuotaPerSecUSec'], 20_000n);
  });

  it('touch nothing that is left out', () => assert.deepEqual(limitProperties(2, {}), []));

  it('come with a slice that no shutdown waits for', () => {
    const properties = shown(sliceProperties('a-b.slice', 'a.slice'));
    assert.equal(properties['DefaultDependencies'], false);
    assert.deepEqual(properties['Wants'], ['a.slice']);
    assert.equal(shown(sliceProperties('a.slice', undefined))['Wants'], undefined);
  });
});

/** Files that note what is asked of them. */
class Files {
  readonly version = 2;
  readonly calls: string[] = [];
  processes: number[] = [];
  async create(path: string) {
    this.calls.push(`create ${path}`);
    return [];
  }
  async set(path: string) {
    this.calls.push(`set ${path}`);
    return [];
  }
  async remove(path: string) {
    this.calls.push(`remove ${path}`);
  }
  async pids() {
    return this.processes;
  }
}

class Units implements SystemdUnits {
  readonly units = new Map<string, Record<string, unknown>>();
  refuse: Error | undefined;
  async start(name: string, properties: readonly UnitProperty[]) {
    if (this.refuse !== undefined) throw this.refuse;
    if (this.units.has(name)) return false;
    this.units.set(name, shown(properties));
    return true;
  }
  async setProperties(name: string, properties: readonly UnitProperty[]) {
    this.units.set(name, { ...this.units.get(name), ...shown(properties) });
  }
  async stop(name: string) {
    this.units.delete(name);
  }
}

describe('control groups of systemd', () => {
  const make = () => {
    const files = new Files();
    const units = new Units();
    return { files, units, fs: new SystemdCgroupFs(files as unknown as CgroupFs, units, '/kubepods.slice') };
  };

  it('are slices, made and limited by systemd before the files are written', async () => {
    const { files, units, fs } = make();
    await fs.create('/kubepods.slice/kubepods-burstable.slice', { cpuShares: 2 });
    assert.equal(units.units.get('kubepods-burstable.slice')?.['CPUWeight'], 1n);
    assert.deepEqual(units.units.get('kubepods-burstable.slice')?.['Wants'], ['kubepods.slice']);
    await fs.create('/kubepods.slice/kubepods-burstable.slice', { cpuShares: 1024 });
    assert.equal(units.units.get('kubepods-burstable.slice')?.['CPUWeight'], 39n, 'an existing slice is changed');
    await fs.set('/kubepods.slice/kubepods-burstable.slice', { memory: 9 });
    assert.equal(units.units.get('kubepods-burstable.slice')?.['MemoryMax'], 9n);
    assert.deepEqual(
      files.calls.map((c) => c.split(' ')[0]),
      ['create', 'create', 'set'],
    );
  });

  it('are not ended while something runs there: the caller decides', async () => {
    const { files, units, fs } = make();
    await fs.create('/kubepods.slice/kubepods-pod1.slice', {});
    files.processes = [42];
    await assert.rejects(fs.remove('/kubepods.slice/kubepods-pod1.slice'), (err) => err instanceof CgroupError && err.code === 'Busy');
    assert.ok(units.units.has('kubepods-pod1.slice'));
    files.processes = [];
    await fs.remove('/kubepods.slice/kubepods-pod1.slice');
    assert.ok(!units.units.has('kubepods-pod1.slice'));
    assert.equal(files.calls.at(-1), 'remove /kubepods.slice/kubepods-pod1.slice');
  });

  it('stay below their scope, and name systemd where it refuses', async () => {
    const { units, fs } = make();
    await assert.rejects(fs.create('/system.slice', {}), { code: 'OutOfScope' });
    await assert.rejects(fs.set('/kubepods.slice/x', {}), /it is no slice/);
    units.refuse = new Error('Access denied');
    await assert.rejects(fs.create('/kubepods.slice', {}), /cannot create control group \/kubepods.slice: systemd: Access denied/);
  });
});
