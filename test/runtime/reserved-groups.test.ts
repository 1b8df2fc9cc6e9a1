import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type NodeCgroupFs, openCgroupFs } from '../../src/host/cgroups/node-cgroup-fs.ts';
import { systemClock } from '../../src/host/clock.ts';
import { enforceReserved, type ReservedCgroup } from '../../src/resources/reserved-cgroups.ts';

/** Groups of this run's own: one stands for the system's, one is missing. */
const root = `/kts-test-reserved-${process.pid}`;
const system: ReservedCgroup = {
  kind: 'System',
  field: 'systemReservedCgroup',
  path: `${root}/system`,
  reserved: { cpu: '500m', memory: '256Mi', pid: '1000' },
  compressibleOnly: false,
};

describe('reserved groups on the real kernel', () => {
  let fs: NodeCgroupFs;
  const events: string[] = [];
  const deps = {
    open: (path: string) => openCgroupFs(path, systemClock),
    nodeEvent: (type: string, reason: string) => events.push(`${type} ${reason}`),
    memoryQoS: true,
  };
  before(async () => {
    fs = await openCgroupFs(root, systemClock);
    assert.deepEqual(await fs.create(system.path, {}), []);
  });
  after(() => fs.remove(root));

  it('the group is held to what is reserved for it', async () => {
    await enforceReserved([system], deps);
    const read = async (file: string) => (await fs.read(system.path, file))?.trim();
    if (fs.version === 1) {
      assert.equal(await read('cpu.shares'), '512');
      assert.equal(await read('memory.limit_in_bytes'), String(256 * 2 ** 20));
    } else {
      assert.equal(await read('cpu.weight'), '20');
      assert.equal(await read('memory.max'), String(256 * 2 ** 20));
      assert.equal(await read('memory.min'), String(256 * 2 ** 20));
    }
    assert.equal(await read('pids.max'), '1000');
    assert.deepEqual(events, ['Normal NodeAllocatableEnforced']);
  });

  it('the compressible form leaves memory and tasks as they are', async () => {
    await fs.set(system.path, { memory: 512 * 2 ** 20 });
    await enforceReserved([{ ...system, reserved: { cpu: '250m', memory: '1Mi' }, compressibleOnly: true }], deps);
    const memory = await fs.read(system.path, fs.version === 1 ? 'memory.limit_in_bytes' : 'memory.max');
    assert.equal(memory?.trim(), String(512 * 2 ** 20));
  });

  it('a group that nobody made is told by its field', async () => {
    await assert.rejects(
      enforceReserved([{ ...system, kind: 'Kube', field: 'kubeReservedCgroup', path: `${root}/nowhere` }], deps),
      /Failed to enforce Kube Reserved Cgroup Limits on ".*\/nowhere": kubeReservedCgroup: the control group does not exist/,
    );
    assert.equal(events.at(-1), 'Warning FailedNodeAllocatableEnforcement');
  });
});
