import type { CgroupFs } from './cgroup-fs.ts';
import { sharesOfWeight } from './cpu.ts';
import type { CgroupPath } from './path.ts';
import { blkioCounts, flatKeyed, type IoStat, ioStat, type Pressure, pressure, singleNumber } from './stat-files.ts';

/** Nanoseconds and counts since the group began. */
export interface CgroupCpu {
  total: number;
  user: number;
  system: number;
  periods: number;
  throttledPeriods: number;
  throttledTime: number;
  burstPeriods: number;
  burstTime: number;
  psi?: Pressure;
}

/** Bytes and counts, by the definitions of cAdvisor: on cgroup v1 `pageFaults` are the group's own, all else is hierarchical. */
export interface CgroupMemory {
  usage: number;
  /** Without inactive file pages. */
  workingSet: number;
  maxUsage: number;
  failcnt: number;
  cache: number;
  rss: number;
  swap: number;
  mappedFile: number;
  kernel: number;
  activeFile: number;
  inactiveFile: number;
  fileDirty: number;
  fileWriteback: number;
  pageFaults: number;
  majorPageFaults: number;
  pgscan: number;
  pgsteal: number;
  refaultFile: number;
  refaultAnon: number;
  eventsHigh: number;
  eventsMax: number;
  /** Processes that the kernel killed for want of memory. */
  oomKills: number;
  psi?: Pressure;
}

/** What the group may use. Infinity is no limit; 0 of `cpuQuota` too, as the metrics have it. */
export interface CgroupLimits {
  cpuShares: number;
  /** Microseconds. */
  cpuPeriod: number;
  cpuQuota: number;
  memory: number;
  /** v1: memory and swap together. */
  swap: number;
  memoryReservation: number;
}

export interface CgroupStats {
  /** Wall-clock milliseconds of the reading. */
  atMs: number;
  /** Undefined: the controller is not there. */
  cpu?: CgroupCpu;
  memory?: CgroupMemory;
  io: IoStat;
  ioPsi?: Pressure;
  pids?: { current: number; limit: number };
  limits: CgroupLimits;
}

type Files = Pick<CgroupFs, 'version' | 'read'>;

/** USER_HZ is 100 on every Linux that containers run on. */
const NanosecondsPerTick = 1e7;

/**
 * The statistics of one group, read now. A group that is gone gives neither CPU nor memory. On the v2 root, which has no
 * files for memory, usage is anonymous and file memory together.
 */
export async function readCgroupStats(fs: Files, path: CgroupPath, nowMs: () => number): Promise<CgroupStats> {
  const atMs = nowMs();
  const read = (file: string) => fs.read(path, file).catch(() => undefined);
  return fs.version === 1 ? statsV1(atMs, read) : statsV2(atMs, read);
}

/** What a group uses of its memory. Infinity is no limit. */
export interface CgroupMemoryUse {
  /** Undefined: the group is gone, or the controller is not there. */
  workingSet: number | undefined;
  limit: number;
}

/** The same memory and limit as `readCgroupStats`, from the three files that tell them: for whoever looks often. */
export async function readCgroupMemory(fs: Files, path: CgroupPath): Promise<CgroupMemoryUse> {
  const read = (file: string) => fs.read(path, file).catch(() => undefined);
  const files = memoryFiles[fs.version];
  const [breakdown, current, most] = await Promise.all([read('memory.stat'), read(files.usage), read(files.limit)]);
  const limit = memoryLimit(fs.version, singleNumber(most));
  if (breakdown === undefined) return { workingSet: undefined, limit };
  const stat = flatKeyed(breakdown);
  const usage = fs.version === 1 ? singleNumber(current) : usageV2(stat, singleNumber(current));
  return { workingSet: usage === undefined ? undefined : memory(stat, usage, memoryNames[fs.version]).workingSet, limit };
}

type Read = (file: string) => Promise<string | undefined>;

async function statsV1(atMs: number, read: Read): Promise<CgroupStats> {
  const [usage, breakdown, throttling, stat, oom, ...numbers] = await Promise.all([
    read('cpuacct.usage'),
    read('cpuacct.stat'),
    read('cpu.stat'),
    read('memory.stat'),
    read('memory.oom_control'),
    ...v1Numbers.map(read),
  ]);
  const number = (file: (typeof v1Numbers)[number]) => singleNumber(numbers[v1Numbers.indexOf(file)]);
  const total = singleNumber(usage);
  const ticks = flatKeyed(breakdown);
  const cfs = flatKeyed(throttling);
  const used = number('memory.usage_in_bytes');
  const quota = number('cpu.cfs_quota_us') ?? 0;
  const pids = number('pids.current');
  return {
    atMs,
    ...(total === undefined
      ? {}
      : {
          cpu: {
            total,
            user: (ticks.get('user') ?? 0) * NanosecondsPerTick,
            system: (ticks.get('system') ?? 0) * NanosecondsPerTick,
            ...throttled(cfs),
            throttledTime: cfs.get('throttled_time') ?? 0,
            burstTime: cfs.get('burst_time') ?? 0,
          },
        }),
    ...(used === undefined || stat === undefined
      ? {}
      : {
          memory: {
            ...memory(flatKeyed(stat), used, memoryNames[1]),
            maxUsage: number('memory.max_usage_in_bytes') ?? 0,
            failcnt: number('memory.failcnt') ?? 0,
            kernel: number('memory.kmem.usage_in_bytes') ?? 0,
            oomKills: flatKeyed(oom).get('oom_kill') ?? 0,
          },
        }),
    io: await v1Io(read),
    ...(pids === undefined ? {} : { pids: { current: pids, limit: number('pids.max') ?? Number.POSITIVE_INFINITY } }),
    limits: {
      cpuShares: number('cpu.shares') ?? 0,
      cpuPeriod: number('cpu.cfs_period_us') ?? 0,
      cpuQuota: Number.isFinite(quota) ? quota : 0,
      memory: memoryLimit(1, number('memory.limit_in_bytes')),
      swap: unlimited(number('memory.memsw.limit_in_bytes') ?? 0),
      memoryReservation: unlimited(number('memory.soft_limit_in_bytes')),
    },
  };
}

const v1Numbers = [
  'cpu.shares',
  'cpu.cfs_period_us',
  'cpu.cfs_quota_us',
  'memory.usage_in_bytes',
  'memory.max_usage_in_bytes',
  'memory.failcnt',
  'memory.kmem.usage_in_bytes',
  'memory.limit_in_bytes',
  'memory.memsw.limit_in_bytes',
  'memory.soft_limit_in_bytes',
  'pids.current',
  'pids.max',
] as const;

/** The scheduler decides which of the files count; BFQ's hold nothing while another one is at work. */
async function v1Io(read: Read): Promise<IoStat> {
  for (const kind of ['bfq', 'throttle']) {
    const [serviceBytes, serviced] = await Promise.all([
      read(`blkio.${kind}.io_service_bytes_recursive`).then(blkioCounts),
      read(`blkio.${kind}.io_serviced_recursive`).then(blkioCounts),
    ]);
    if (serviceBytes === undefined || serviced === undefined || serviced.length === 0) continue;
    return { ...ioStat(undefined), serviceBytes, serviced };
  }
  return ioStat(undefined);
}

async function statsV2(atMs: number, read: Read): Promise<CgroupStats> {
  const [cpuStat, memoryStat, io, events, cpuPsi, memoryPsi, ioPsi, cpuMax, ...numbers] = await Promise.all([
    read('cpu.stat'),
    read('memory.stat'),
    read('io.stat'),
    read('memory.events'),
    read('cpu.pressure').then(pressure),
    read('memory.pressure').then(pressure),
    read('io.pressure').then(pressure),
    read('cpu.max'),
    ...v2Numbers.map(read),
  ]);
  const number = (file: (typeof v2Numbers)[number]) => singleNumber(numbers[v2Numbers.indexOf(file)]);
  const cpu = flatKeyed(cpuStat);
  const total = cpu.get('usage_usec');
  const stat = flatKeyed(memoryStat);
  const event = flatKeyed(events);
  const [quota, period] = (cpuMax ?? '').trim().split(' ');
  const weight = number('cpu.weight');
  const pids = number('pids.current');
  const micros = (key: string) => (cpu.get(key) ?? 0) * 1000;
  return {
    atMs,
    ...(total === undefined
      ? {}
      : {
          cpu: {
            total: total * 1000,
            user: micros('user_usec'),
            system: micros('system_usec'),
            ...throttled(cpu),
            throttledTime: micros('throttled_usec'),
            burstTime: micros('burst_usec'),
            ...(cpuPsi === undefined ? {} : { psi: cpuPsi }),
          },
        }),
    ...(memoryStat === undefined
      ? {}
      : {
          memory: {
            ...memory(stat, usageV2(stat, number('memory.current')), memoryNames[2]),
            maxUsage: number('memory.peak') ?? 0,
            swap: number('memory.swap.current') ?? 0,
            eventsHigh: event.get('high') ?? 0,
            eventsMax: event.get('max') ?? 0,
            oomKills: event.get('oom_kill') ?? 0,
            ...(memoryPsi === undefined ? {} : { psi: memoryPsi }),
          },
        }),
    io: ioStat(io),
    ...(ioPsi === undefined ? {} : { ioPsi }),
    ...(pids === undefined ? {} : { pids: { current: pids, limit: number('pids.max') ?? Number.POSITIVE_INFINITY } }),
    limits: {
      cpuShares: weight === undefined ? 0 : sharesOfWeight(weight),
      cpuPeriod: singleNumber(period) ?? 0,
      cpuQuota: quota === 'max' ? 0 : (singleNumber(quota) ?? 0),
      memory: memoryLimit(2, number('memory.max')),
      swap: number('memory.swap.max') ?? 0,
      memoryReservation: number('memory.min') ?? 0,
    },
  };
}

const v2Numbers = [
  'cpu.weight',
  'memory.current',
  'memory.peak',
  'memory.swap.current',
  'memory.max',
  'memory.swap.max',
  'memory.min',
  'pids.current',
  'pids.max',
] as const;

const memoryFiles = {
  1: { usage: 'memory.usage_in_bytes', limit: 'memory.limit_in_bytes' },
  2: { usage: 'memory.current', limit: 'memory.max' },
} as const;

/** What the figures are called in memory.stat. */
const memoryNames = {
  1: {
    cache: 'total_cache',
    rss: 'total_rss',
    swap: 'total_swap',
    mapped: 'total_mapped_file',
    active: 'total_active_file',
    inactive: 'total_inactive_file',
  },
  2: { cache: 'file', rss: 'anon', swap: '', mapped: 'file_mapped', active: 'active_file', inactive: 'inactive_file' },
} as const;

/** The v2 root has no file of its usage. */
function usageV2(stat: ReadonlyMap<string, number>, current: number | undefined): number {
  return current ?? (stat.get('anon') ?? 0) + (stat.get('file') ?? 0);
}

function memoryLimit(version: 1 | 2, bytes: number | undefined): number {
  return version === 1 ? unlimited(bytes) : (bytes ?? Number.POSITIVE_INFINITY);
}

function memory(stat: ReadonlyMap<string, number>, usage: number, names: (typeof memoryNames)[1 | 2]): CgroupMemory {
  const of = (key: string) => stat.get(key) ?? 0;
  return {
    usage,
    workingSet: Math.max(0, usage - of(names.inactive)),
    maxUsage: 0,
    failcnt: 0,
    kernel: 0,
    cache: of(names.cache),
    rss: of(names.rss),
    swap: of(names.swap),
    mappedFile: of(names.mapped),
    activeFile: of(names.active),
    inactiveFile: of(names.inactive),
    fileDirty: of('file_dirty'),
    fileWriteback: of('file_writeback'),
    pageFaults: of('pgfault'),
    majorPageFaults: of('pgmajfault'),
    pgscan: of('pgscan'),
    pgsteal: of('pgsteal'),
    refaultFile: of('workingset_refault_file'),
    refaultAnon: of('workingset_refault_anon'),
    eventsHigh: 0,
    eventsMax: 0,
    oomKills: 0,
  };
}

function throttled(stat: ReadonlyMap<string, number>) {
  return {
    periods: stat.get('nr_periods') ?? 0,
    throttledPeriods: stat.get('nr_throttled') ?? 0,
    burstPeriods: stat.get('nr_bursts') ?? 0,
  };
}

/** v1 writes "no limit" as the highest number of pages; no machine has 2^62 bytes. */
function unlimited(bytes: number | undefined): number {
  return bytes === undefined || bytes > 2 ** 62 ? Number.POSITIVE_INFINITY : bytes;
}
