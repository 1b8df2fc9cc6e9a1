import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { bootTimeMs, filesystemSpace, readNodeUsage } from './node-usage.ts';

async function machine(files: Record<string, string>, work: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'kts-usage-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    await work(`${root}/`);
  } finally {
    await rm(root, { recursive: true });
  }
}

const meminfo = 'MemTotal: 1000 kB\nMemFree: 400 kB\nSwapTotal: 100 kB\nSwapFree: 30 kB\n';

test('version 1', () =>
  machine(
    {
      'sys/fs/cgroup/cpuacct/cpuacct.usage': '12345678901234567\n',
      'sys/fs/cgroup/memory/memory.usage_in_bytes': '5000\n',
      'sys/fs/cgroup/memory/memory.stat': 'inactive_file 1\ntotal_inactive_file 2000\ntotal_rss 700\ntotal_pgfault 9\ntotal_pgmajfault 3\n',
      'proc/meminfo': meminfo,
    },
    async (root) => {
      assert.deepEqual(await readNodeUsage(root), {
        cpuNanoseconds: 12_345_678_901_234_567n,
        memory: { usage: 5000, workingSet: 3000, rss: 700, pageFaults: 9, majorPageFaults: 3 },
        swap: { usage: 70 * 1024, available: 30 * 1024 },
      });
    },
  ));

test('version 2: memory in use is what is not free', () =>
  machine(
    {
      'sys/fs/cgroup/cpu.stat': 'usage_usec 5000\nuser_usec 1\n',
      'sys/fs/cgroup/memory.stat': 'anon 800\ninactive_file 1024\npgfault 4\npgmajfault 2\n',
      'proc/meminfo': meminfo,
      'proc/stat': 'cpu 1 2 3\nbtime 1700000000\nprocesses 9\n',
    },
    async (root) => {
      const usage = await readNodeUsage(root);
      assert.equal(usage.cpuNanoseconds, 5_000_000n);
      assert.deepEqual(usage.memory, { usage: 600 * 1024, workingSet: 599 * 1024, rss: 800, pageFaults: 4, majorPageFaults: 2 });
      assert.equal(await bootTimeMs(root), 1_700_000_000_000);
    },
  ));

test('a machine that tells nothing gives nothing; space of a file system adds up', async () => {
  await machine({}, async (root) => {
    assert.deepEqual(await readNodeUsage(root), {});
    assert.equal(await bootTimeMs(root), undefined);
    const space = await filesystemSpace(root);
    assert.ok(space !== undefined && space.used + space.available <= space.capacity && space.capacity > 0);
    assert.equal(await filesystemSpace(`${root}none`), undefined);
  });
});
