import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { type MachineTree, machineTrees } from '../../test/support/machineTrees.ts';
import { readNumaNodes } from './numa.ts';

const root = await mkdtemp(join(tmpdir(), 'kts-numa-'));
after(() => rm(root, { recursive: true }));

/** Writes the tree's files below a directory of its own and reads them as a machine. */
async function read(name: string, tree: MachineTree) {
  const dir = join(root, name);
  for (const [path, text] of Object.entries(tree)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), `${text}\n`);
  }
  return readNumaNodes(`${dir}/`);
}

const MiB = 2 ** 20;

test('two sockets with SMT: threads of a core far apart, one cache a socket', async () => {
  const nodes = await read('two-sockets', machineTrees.twoSockets);
  assert.deepEqual(
    nodes.map((n) => [n.id, n.memory, n.distances, n.cores.length]),
    [
      [0, 64 * 1024 * MiB, [10, 21], 4],
      [1, 64 * 1024 * MiB, [21, 10], 4],
    ],
  );
  assert.deepEqual(nodes[1]?.cores[0], { threads: [4, 12], socket: 1 });
  assert.deepEqual(nodes[0]?.hugepages, [
    { pageSize: 2 * MiB, total: 512 * MiB },
    { pageSize: 1024 * MiB, total: 0 },
  ]);
});

test('SMT off: the second threads are offline and no part of any core', async () => {
  const [node] = await read('smt-off', machineTrees.smtOff);
  assert.deepEqual(
    node?.cores.map((c) => c.threads),
    [[0], [1], [2], [3]],
  );
});

test('a NUMA node without memory, and one without CPUs', async () => {
  const nodes = await read('odd-nodes', machineTrees.oddNodes);
  assert.deepEqual(
    nodes.map((n) => [n.id, n.memory, n.cores.length]),
    [
      [0, 16 * 1024 * MiB, 2],
      [1, 0, 2],
      [8, 32 * 1024 * MiB, 0],
    ],
  );
});

test('hybrid cores: some with two threads, some with one, all below one cache', async () => {
  const [node] = await read('hybrid', machineTrees.hybrid);
  assert.deepEqual(
    node?.cores.map((c) => c.threads),
    [[0, 1], [2, 3], [4], [5], [6], [7]],
  );
});

test('a cache that only some cores of a node share is theirs', async () => {
  const [node] = await read('split-cache', machineTrees.splitCache);
  assert.deepEqual(
    node?.cores.map((c) => [c.threads, c.uncore]),
    [
      [[0, 4], 0],
      [[1, 5], 0],
      [[2, 6], 1],
      [[3, 7], 1],
    ],
  );
});

test('a virtual machine with one node that tells little', async () => {
  assert.deepEqual(await read('small-vm', machineTrees.smallVm), [
    { id: 0, memory: 2048 * MiB, hugepages: [], distances: [10], cores: [0, 1].map((cpu) => ({ threads: [cpu], socket: cpu })) },
  ]);
});

test('without NUMA in the kernel each socket stands for a node', async () => {
  const nodes = await read('no-numa', machineTrees.noNuma);
  assert.deepEqual(
    nodes.map((n) => [n.id, n.memory, n.cores.map((c) => c.threads)]),
    [
      [0, 0, [[0], [1]]],
      [1, 0, [[2], [3]]],
    ],
  );
});

test('this machine can be read, and a directory without CPUs cannot', async () => {
  const nodes = await readNumaNodes();
  assert.ok(nodes.flatMap((n) => n.cores).length > 0);
  await assert.rejects(readNumaNodes(`${root}/nothing/`), /no CPU can be read below/);
});
