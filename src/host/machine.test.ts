import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { meminfoBytes, parseCpuList, readMachine } from './machine.ts';

describe('readMachine', () => {
  let root = '';
  before(async () => {
    root = `${await mkdtemp(join(tmpdir(), 'machine-'))}/`;
    const files: Record<string, string> = {
      'proc/meminfo': 'MemTotal:       16 kB\nSwapTotal:      4 kB\n',
      'sys/devices/system/cpu/online': '0-2,5\n',
      'sys/devices/system/cpu/possible': '0-1\n',
      'sys/devices/system/cpu/cpu1/thermal_throttle/x': '',
      'proc/sys/kernel/random/boot_id': 'boot\n',
      'etc/machine-id': 'machine\n',
      'usr/lib/os-release': 'ID=x\nPRETTY_NAME="An OS 1.0"\n',
      'proc/sys/kernel/pid_max': '32768\n',
      'proc/sys/kernel/threads-max': '1000\n',
      'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '3\n',
      'sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages': '0\n',
    };
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    }
  });
  after(() => rm(root, { recursive: true }));

  it('reads capacity and identity', async () => {
    const machine = await readMachine(root);
    assert.equal(machine.cpu, 4000);
    assert.equal(machine.memory, 16 * 1024);
    assert.equal(machine.swap, 4 * 1024);
    assert.equal(machine.maxPids, 1000);
    assert.deepEqual(
      machine.hugepages.map(({ pageSize, total }) => [pageSize, total]),
      [
        [65536, 0],
        [2097152, 6291456],
      ],
    );
    assert.deepEqual([machine.bootId, machine.machineId, machine.systemUuid, machine.osImage], ['boot', 'machine', 'machine', 'An OS 1.0']);
    assert.deepEqual(machine.thermalThrottlePaths, ['/sys/devices/system/cpu/cpu1/thermal_throttle']);
  });

  it('fails without a memory size, since every limit depends on it', () => assert.rejects(readMachine('/nonexistent/'), /memory/));

  it('reads this machine', async () => {
    const machine = await readMachine();
    assert.ok(machine.cpu >= 1000);
    assert.ok(machine.memory > 64 * 1024 * 1024);
    assert.match(machine.bootId, /^[0-9a-f-]{36}$/);
  });
});

describe('parseCpuList', () => {
  it('reads kernel lists and nothing else', () => {
    assert.deepEqual(parseCpuList('0-3,8\n'), [0, 1, 2, 3, 8]);
    assert.deepEqual(parseCpuList(''), []);
    assert.deepEqual(parseCpuList('0-x'), []);
  });
});

describe('meminfoBytes', () => {
  it('is 0 for a missing or odd field', () => {
    assert.equal(meminfoBytes('MemTotal: what\n', 'MemTotal'), 0);
    assert.equal(meminfoBytes('', 'MemTotal'), 0);
  });
});
