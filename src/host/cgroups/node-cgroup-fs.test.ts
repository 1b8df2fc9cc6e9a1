import assert from 'node:assert/strict';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CgroupError } from './cgroup-fs.ts';
import { NodeCgroupFs } from './node-cgroup-fs.ts';

const clock = { sleep: () => Promise.resolve() };
const controllers = ['cpu', 'cpuset', 'memory', 'pids'];

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cgroups-'));
});
afterEach(() => rm(dir, { recursive: true }));

const exists = (path: string) =>
  access(join(dir, path)).then(
    () => true,
    () => false,
  );
const text = (path: string) => readFile(join(dir, path), 'utf8');
async function put(path: string, content = ''): Promise<void> {
  await mkdir(dirname(join(dir, path)), { recursive: true });
  await writeFile(join(dir, path), content);
}

/** A fake v1 tree: one directory a controller, `devices` only the runtime's, and a bare unified one. */
function v1(kill?: (pid: number) => void): NodeCgroupFs {
  const mounts = new Map([...controllers, 'devices'].map((name) => [name, join(dir, name)]));
  const layout = { version: 1 as const, controllers: mounts, unified: join(dir, 'unified') };
  return new NodeCgroupFs({ layout, scope: '/kubepods', clock, ...(kill === undefined ? {} : { kill }) });
}

function v2(kill?: (pid: number) => void): NodeCgroupFs {
  const layout = { version: 2 as const, mountPoint: join(dir, 'v2') };
  return new NodeCgroupFs({
    layout,
    scope: '/kubepods',
    clock,
    v2Controllers: ['cpu', 'io', 'memory', 'pids'],
    ...(kill === undefined ? {} : { kill }),
  });
}

describe('NodeCgroupFs on v1', () => {
  beforeEach(async () => {
    for (const name of [...controllers, 'devices', 'unified']) await mkdir(join(dir, name));
    await put('cpuset/cpuset.cpus', '0-1\n');
    await put('cpuset/cpuset.mems', '0\n');
  });

  it('creates the group in its own controllers only, with missing parents', async () => {
    // The fake has no kernel that makes the files of a new group.
    await put('cpuset/kubepods/burstable/pod1/cpuset.cpus');
    await put('cpuset/kubepods/burstable/pod1/cpuset.mems');
    await put('cpuset/kubepods/burstable/cpuset.cpus', '1\n');
    await put('cpuset/kubepods/burstable/cpuset.mems', '0\n');
    assert.deepEqual(await v1().create('/kubepods/burstable/pod1', {}), []);
    for (const name of controllers) assert.ok(await exists(`${name}/kubepods/burstable/pod1`), name);
    assert.ok(!(await exists('devices/kubepods')));
    assert.ok(!(await exists('unified/kubepods')));
    assert.equal(await text('cpuset/kubepods/burstable/pod1/cpuset.cpus'), '1');
    assert.equal(await text('cpuset/kubepods/burstable/pod1/cpuset.mems'), '0');
    assert.ok(await v1().exists('/kubepods/burstable/pod1'));
  });

  it('does not take a half-made group for one that exists', async () => {
    await mkdir(join(dir, 'cpu/kubepods'));
    assert.equal(await v1().exists('/kubepods'), false);
  });

  it('applies settings and reports each refusal', async () => {
    await put('cpu/kubepods/cpu.shares');
    await mkdir(join(dir, 'memory/kubepods'));
    const refusals = await v1().set('/kubepods', { cpuShares: 77, memory: 5, hugetlb: new Map([[2097152, 1]]) });
    assert.equal(await text('cpu/kubepods/cpu.shares'), '77');
    assert.deepEqual(
      refusals.map(({ file, value, code }) => [file, value, code]),
      [['memory.limit_in_bytes', '5', 'ENOENT']],
    );
  });

  it('lists children in one hierarchy, or in all of them', async () => {
    await mkdir(join(dir, 'pids/kubepods/podB'), { recursive: true });
    await mkdir(join(dir, 'pids/kubepods/podA'), { recursive: true });
    await mkdir(join(dir, 'devices/kubepods/podC'), { recursive: true });
    await put('pids/kubepods/pids.max', '1');
    assert.deepEqual(await v1().children('/kubepods'), ['podA', 'podB']);
    assert.deepEqual(await v1().children('/kubepods', true), ['podA', 'podB', 'podC']);
    assert.deepEqual(await v1().children('/kubepods/none'), []);
  });

  it('removes a tree from every hierarchy, the runtime ones too, and takes a missing one as removed', async () => {
    for (const name of ['cpu', 'devices', 'unified']) await mkdir(join(dir, `${name}/kubepods/pod1/c1`), { recursive: true });
    await v1().remove('/kubepods/pod1');
    for (const name of ['cpu', 'devices', 'unified']) {
      assert.ok(!(await exists(`${name}/kubepods/pod1`)), name);
      assert.ok(await exists(`${name}/kubepods`), name);
    }
    await v1().remove('/kubepods/pod1');
  });

  it('never changes anything outside its scope', async () => {
    const fs = v1();
    for (const path of ['/', '/other', '/kubepods2', '/kubepods/../other', 'kubepods']) {
      await assert.rejects(fs.create(path, {}), path);
      await assert.rejects(fs.set(path, { cpuShares: 2 }), path);
      await assert.rejects(fs.remove(path), path);
      await assert.rejects(fs.kill(path), path);
    }
    await assert.rejects(fs.read('/kubepods', '../cpuset.cpus'));
  });

  it('kills every process of the subtree until none is left', async () => {
    await put('cpu/kubepods/pod1/cgroup.procs', '101\n');
    await put('cpu/kubepods/pod1/c1/cgroup.procs', '102\n103\n');
    await put('devices/kubepods/pod1/cgroup.procs', '104\n');
    const killed: number[] = [];
    const fs = v1((pid) => {
      killed.push(pid);
      if (pid === 103) throw Object.assign(new Error('gone'), { code: 'ESRCH' });
    });
    const killing = fs.kill('/kubepods/pod1');
    // They are gone only after the second round has seen them again.
    await put('devices/kubepods/pod1/cgroup.procs', '');
    await put('cpu/kubepods/pod1/cgroup.procs', '');
    await put('cpu/kubepods/pod1/c1/cgroup.procs', '');
    await killing;
    assert.deepEqual(await fs.pids('/kubepods/pod1'), []);
    assert.ok(killed.every((pid) => [101, 102, 103, 104].includes(pid)));
  });

  it('says which processes outlive SIGKILL', async () => {
    await put('memory/kubepods/pod1/cgroup.procs', '4242\n');
    const fs = v1(() => {});
    await assert.rejects(
      fs.kill('/kubepods/pod1'),
      (err) => err instanceof CgroupError && err.code === 'ProcessesRemain' && /4242/.test(err.message),
    );
  });

  it('kills neither itself nor init', async () => {
    const killed: number[] = [];
    const fs = v1((pid) => killed.push(pid));
    await put('cpu/kubepods/pod1/cgroup.procs', `${process.pid}\n7777\n`);
    await assert.rejects(fs.kill('/kubepods/pod1'), /this process itself/);
    await put('cpu/kubepods/pod1/cgroup.procs', '1\n');
    await assert.rejects(fs.kill('/kubepods/pod1'), /pid 1/);
    assert.deepEqual(killed, []);
  });
});

describe('NodeCgroupFs on v2', () => {
  beforeEach(async () => {
    await put('v2/cgroup.controllers', 'cpu io memory pids\n');
    await put('v2/cgroup.subtree_control', 'cpu\n');
  });

  it('delegates the controllers that are missing, from the root down', async () => {
    await put('v2/kubepods/cgroup.controllers', 'cpu memory pids\n');
    await put('v2/kubepods/cgroup.subtree_control', 'cpu memory\n');
    const fs = v2();
    assert.deepEqual(await fs.create('/kubepods/pod1', {}), []);
    assert.equal(await text('v2/cgroup.subtree_control'), '+pids');
    assert.equal(await text('v2/kubepods/cgroup.subtree_control'), '+pids');
    assert.ok(await exists('v2/kubepods/pod1'));
  });

  it('exists only with its controllers', async () => {
    await put('v2/kubepods/cgroup.controllers', 'cpu\n');
    assert.equal(await v2().exists('/kubepods'), false);
    await put('v2/kubepods/cgroup.controllers', 'cpu memory pids io\n');
    assert.equal(await v2().exists('/kubepods'), true);
    assert.equal(await v2().exists('/kubepods/none'), false);
  });

  it('kills the subtree at once where the kernel can', async () => {
    await put('v2/kubepods/pod1/cgroup.procs', '4242\n');
    await put('v2/kubepods/pod1/cgroup.kill');
    const killed: number[] = [];
    const killing = v2((pid) => killed.push(pid)).kill('/kubepods/pod1');
    await assert.rejects(killing, /4242/);
    assert.equal(await text('v2/kubepods/pod1/cgroup.kill'), '1');
    assert.deepEqual(killed, []);
  });

  it('writes weights and unified files', async () => {
    await put('v2/kubepods/cpu.weight');
    await put('v2/kubepods/memory.low');
    assert.deepEqual(await v2().set('/kubepods', { cpuShares: 2, unified: { 'memory.low': '0' } }), []);
    assert.equal(await text('v2/kubepods/cpu.weight'), '1');
    assert.equal(await text('v2/kubepods/memory.low'), '0');
  });
});
