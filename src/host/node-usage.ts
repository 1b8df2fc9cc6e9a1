import { readFile, statfs } from 'node:fs/promises';
import { meminfoBytes } from './machine.ts';

/** What the whole machine uses. An undefined value could not be read, which is not zero. */
export interface NodeUsage {
  /** Of all cores, since the counter began. */
  cpuNanoseconds?: bigint;
  memory?: NodeMemory;
  /** Bytes. */
  swap?: { usage: number; available: number };
}

/** Bytes and counts, by the definitions of cAdvisor. */
export interface NodeMemory {
  usage: number;
  /** The part of `usage` that cannot be dropped at once: without inactive file pages. */
  workingSet: number;
  rss: number;
  pageFaults: number;
  majorPageFaults: number;
}

/** Reads the root control group of either version, and /proc/meminfo. Never rejects. */
export async function readNodeUsage(root = '/'): Promise<NodeUsage> {
  const text = (path: string) => readFile(`${root}${path}`, 'utf8').catch(() => undefined);
  const [v1Cpu, v1Usage, v1Stat, v2Cpu, v2Stat, meminfo = ''] = await Promise.all([
    text('sys/fs/cgroup/cpuacct/cpuacct.usage').then(async (found) => found ?? text('sys/fs/cgroup/cpu,cpuacct/cpuacct.usage')),
    text('sys/fs/cgroup/memory/memory.usage_in_bytes'),
    text('sys/fs/cgroup/memory/memory.stat'),
    text('sys/fs/cgroup/cpu.stat'),
    text('sys/fs/cgroup/memory.stat'),
    text('proc/meminfo'),
  ]);
  const usage: NodeUsage = {};
  const micros = v2Cpu === undefined ? undefined : flatKeyed(v2Cpu).get('usage_usec');
  if (v1Cpu !== undefined && /^\d+\s*$/.test(v1Cpu)) usage.cpuNanoseconds = BigInt(v1Cpu.trim());
  else if (micros !== undefined) usage.cpuNanoseconds = BigInt(micros) * 1000n;
  if (v1Usage !== undefined && v1Stat !== undefined) {
    const stat = flatKeyed(v1Stat);
    usage.memory = memory(Number(v1Usage.trim()), stat, { inactive: 'total_inactive_file', rss: 'total_rss', prefix: 'total_' });
  } else if (v2Stat !== undefined) {
    // The root of version 2 has no memory.current.
    const used = meminfoBytes(meminfo, 'MemTotal') - meminfoBytes(meminfo, 'MemFree');
    usage.memory = memory(used, flatKeyed(v2Stat), { inactive: 'inactive_file', rss: 'anon', prefix: '' });
  }
  if (meminfo !== '') {
    const available = meminfoBytes(meminfo, 'SwapFree');
    usage.swap = { usage: meminfoBytes(meminfo, 'SwapTotal') - available, available };
  }
  return usage;
}

function memory(usage: number, stat: ReadonlyMap<string, number>, names: { inactive: string; rss: string; prefix: string }): NodeMemory {
  return {
    usage,
    workingSet: Math.max(0, usage - (stat.get(names.inactive) ?? 0)),
    rss: stat.get(names.rss) ?? 0,
    pageFaults: stat.get(`${names.prefix}pgfault`) ?? 0,
    majorPageFaults: stat.get(`${names.prefix}pgmajfault`) ?? 0,
  };
}

/** The numbers of a file with `name value` on each line. */
function flatKeyed(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [name, value] = line.split(' ');
    if (name !== undefined && value !== undefined && /^\d+$/.test(value)) values.set(name, Number(value));
  }
  return values;
}

/** Bytes and inodes of the file system of a path. */
export interface FilesystemSpace {
  available: number;
  capacity: number;
  used: number;
  inodes: number;
  inodesFree: number;
}

/** Undefined when the path cannot be read. */
export async function filesystemSpace(path: string): Promise<FilesystemSpace | undefined> {
  try {
    const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
    return { available: bavail * bsize, capacity: blocks * bsize, used: (blocks - bfree) * bsize, inodes: files, inodesFree: ffree };
  } catch {
    return undefined;
  }
}

/** When the machine started, in wall-clock milliseconds; undefined when /proc does not tell. */
export async function bootTimeMs(root = '/'): Promise<number | undefined> {
  const text = await readFile(`${root}proc/stat`, 'utf8').catch(() => '');
  const found = /^btime (\d+)$/m.exec(text)?.[1];
  return found === undefined ? undefined : Number(found) * 1000;
}
