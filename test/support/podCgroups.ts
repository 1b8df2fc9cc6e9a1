import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cgroupFolders, isCgroupV1 } from '../../scripts/node/cgroups.ts';

/** What the kernel holds a group to. -1 is no limit. */
export interface GroupLimits {
  /** Microseconds in 100 ms. */
  cpuQuota: number;
  /** Bytes. */
  memory: number;
  /** v1 shares, or the v2 weight. */
  cpuWeight: number;
}

const V1 = { cpuQuota: 'cpu.cfs_quota_us', memory: 'memory.limit_in_bytes', cpuWeight: 'cpu.shares' };
const V2 = { cpuQuota: 'cpu.max', memory: 'memory.max', cpuWeight: 'cpu.weight' };

/** Reads a group below `root` by its name: `pod` and a pod's UID, or a container's id. */
export async function groupLimits(root: string, name: string): Promise<GroupLimits> {
  const files = (await isCgroupV1()) ? V1 : V2;
  const read = (file: string) => readNumber(root, name, file);
  return { cpuQuota: await read(files.cpuQuota), memory: await read(files.memory), cpuWeight: await read(files.cpuWeight) };
}

/** Bytes that a group uses. */
export async function memoryUsage(root: string, name: string): Promise<number> {
  return readNumber(root, name, (await isCgroupV1()) ? 'memory.usage_in_bytes' : 'memory.current');
}

async function readNumber(root: string, name: string, file: string): Promise<number> {
  for (const folder of await cgroupFolders(root)) {
    if (basename(folder) !== name) continue;
    const text = await readFile(join(folder, file), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const [word = ''] = text.trim().split(' ');
    const value = word === 'max' ? -1 : Number(word);
    return value > 2 ** 62 ? -1 : value;
  }
  throw new Error(`no ${file} of a group ${name} below ${root}`);
}
