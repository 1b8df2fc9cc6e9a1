import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { readCgroupMemory, readCgroupStats } from './cgroup-stats.ts';
import { sharesOfWeight } from './cpu.ts';
import { blkioCounts, flatKeyed, ioStat, pressure, singleNumber } from './stat-files.ts';

const group = (version: 1 | 2, files: Record<string, string>) => ({ version, read: async (_path: string, file: string) => files[file] });
const at = () => 7;

test('version 1: the definitions of cAdvisor', async () => {
  const stats = await readCgroupStats(
    group(1, {
      'cpuacct.usage': '123456789\n',
      'cpuacct.stat': 'user 5\nsystem 3\n',
      'cpu.stat': 'nr_periods 9\nnr_throttled 4\nthrottled_time 77\nnr_bursts 1\nburst_time 2\n',
      'cpu.shares': '102\n',
      'cpu.cfs_period_us': '100000\n',
      'cpu.cfs_quota_us': '20000\n',
      'memory.usage_in_bytes': '5000\n',
      'memory.max_usage_in_bytes': '6000\n',
      'memory.failcnt': '2\n',
      'memory.kmem.usage_in_bytes': '10\n',
      'memory.limit_in_bytes': '9223372036854771712\n',
      'memory.soft_limit_in_bytes': '9223372036854771712\n',
      'memory.memsw.limit_in_bytes': '4096\n',
      'memory.stat':
        'rss 1\npgfault 8\npgmajfault 1\ntotal_rss 700\ntotal_cache 30\ntotal_swap 4\ntotal_inactive_file 2000\ntotal_pgfault 99\n',
      'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
      'pids.current': '12\n',
      'pids.max': 'max\n',
      'blkio.bfq.io_service_bytes_recursive': 'Total 0\n',
      'blkio.bfq.io_serviced_recursive': 'Total 0\n',
      'blkio.throttle.io_service_bytes_recursive': '254:0 Read 10\n254:0 Write 20\nTotal 30\n',
      'blkio.throttle.io_serviced_recursive': '254:0 Read 1\nTotal 1\n',
    }),
    '/x',
    at,
  );
  assert.deepEqual(stats.cpu, {
    total: 123_456_789,
    user: 50_000_000,
    system: 30_000_000,
    periods: 9,
    throttledPeriods: 4,
    throttledTime: 77,
    burstPeriods: 1,
    burstTime: 2,
  });
  const { usage, workingSet, rss, cache, swap, pageFaults, oomKills, kernel, maxUsage, failcnt } = stats.memory ?? assert.fail();
  assert.deepEqual(
    { usage, workingSet, rss, cache, swap, pageFaults, oomKills, kernel, maxUsage, failcnt },
    { usage: 5000, workingSet: 3000, rss: 700, cache: 30, swap: 4, pageFaults: 8, oomKills: 3, kernel: 10, maxUsage: 6000, failcnt: 2 },
  );
  assert.deepEqual(stats.pids, { current: 12, limit: Number.POSITIVE_INFINITY });
  assert.deepEqual(stats.io.serviceBytes, [{ major: 254, minor: 0, operations: { Read: 10, Write: 20 } }]);
  assert.deepEqual(stats.limits, {
    cpuShares: 102,
    cpuPeriod: 100_000,
    cpuQuota: 20_000,
    memory: Number.POSITIVE_INFINITY,
    swap: 4096,
    memoryReservation: Number.POSITIVE_INFINITY,
  });
});

test('version 2, its root too', async () => {
  const psi = 'some avg10=1.50 avg60=0.00 avg300=0.00 total=42\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n';
  const files = {
    'cpu.stat': 'usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\nnr_periods 1\nthrottled_usec 3\nburst_usec 2\n',
    'memory.stat': 'anon 800\nfile 200\ninactive_file 150\npgfault 4\npgmajfault 2\n',
    'cpu.pressure': psi,
    'io.stat': '8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=9 cost.usage=5\n',
  };
  const root = await readCgroupStats(group(2, files), '/', at);
  assert.equal(root.memory?.usage, 1000);
  assert.equal(root.memory?.workingSet, 850);
  assert.equal(root.cpu?.total, 5_000_000);
  assert.equal(root.cpu?.throttledTime, 3000);
  assert.deepEqual(root.cpu?.psi?.some, { total: 42, avg10: 1.5, avg60: 0, avg300: 0 });
  assert.equal(root.cpu?.psi?.full.total, 7);
  assert.deepEqual(root.io.costUsage, [{ major: 8, minor: 0, operations: { Count: 5 } }]);
  const below = {
    'cpu.max': 'max 100000\n',
    'memory.max': '8192\n',
    'memory.current': '4096\n',
    'memory.swap.current': '3\n',
    'cpu.weight': '100\n',
  };
  const child = await readCgroupStats(group(2, { ...files, ...below, 'memory.events': 'high 1\nmax 2\noom_kill 5\n' }), '/p', at);
  assert.deepEqual([child.limits.cpuQuota, child.limits.cpuPeriod, child.limits.memory], [0, 100_000, 8192]);
  assert.deepEqual([child.memory?.usage, child.memory?.swap, child.memory?.oomKills], [4096, 3, 5]);
  assert.equal(child.limits.cpuShares, 2597);
});

test('a group that is gone has neither CPU nor memory', async () => {
  for (const version of [1, 2] as const) {
    const stats = await readCgroupStats(group(version, {}), '/gone', at);
    assert.deepEqual([stats.cpu, stats.memory, stats.pids], [undefined, undefined, undefined]);
  }
});

test('memory alone is what the whole statistics say of it, from three files', async () => {
  const figure = fc.option(fc.constantFrom('0\n', '5000\n', 'max\n', '9223372036854771712\n', 'x'), { nil: undefined });
  const stat = fc.option(fc.constantFrom('', 'anon 7\nfile 9\ninactive_file 3\n', 'total_inactive_file 2000\n'), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(1 as const, 2 as const), stat, figure, figure, async (version, breakdown, usage, limit) => {
      const names = version === 1 ? ['memory.usage_in_bytes', 'memory.limit_in_bytes'] : ['memory.current', 'memory.max'];
      const files = [['memory.stat', breakdown], ...names.map((name, i) => [name, [usage, limit][i]])].filter(
        ([, text]) => text !== undefined,
      );
      const cgroups = group(version, Object.fromEntries(files));
      const asked: string[] = [];
      const read = (path: string, file: string) => {
        asked.push(file);
        return cgroups.read(path, file);
      };
      const all = await readCgroupStats(cgroups, '/p', at);
      assert.deepEqual(await readCgroupMemory({ version, read }, '/p'), { workingSet: all.memory?.workingSet, limit: all.limits.memory });
      assert.deepEqual(asked.sort(), ['memory.stat', ...names].sort());
    }),
  );
});

test('no text of the kernel makes the readers throw, or give what is no number', () => {
  const numbers = (value: unknown): number[] =>
    typeof value === 'number' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbers) : [];
  const line = fc.oneof(fc.string(), fc.constantFrom('8:0 Read 1', 'some avg10=0.1', 'pgfault 1', '8:0 rbytes=x', 'max'));
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join('\n');
      for (const value of [blkioCounts(text), ioStat(text), pressure(text), singleNumber(text), [...flatKeyed(text).values()]]) {
        assert.ok(!numbers(value).some(Number.isNaN));
      }
    }),
  );
  assert.deepEqual([sharesOfWeight(1), sharesOfWeight(10_000)], [2, 262_144]);
});
