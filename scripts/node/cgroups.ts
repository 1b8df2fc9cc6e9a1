import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMounts } from './mounts.ts';

/** One mounted cgroup hierarchy of the host. */
export interface Hierarchy {
  mountpoint: string;
  version: 1 | 2;
  controllers: string[];
}

const V1_CONTROLLERS = [
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'devices',
  'freezer',
  'blkio',
  'pids',
  'hugetlb',
  'net_cls',
  'net_prio',
  'perf_event',
  'rdma',
  'misc',
];

export async function cgroupHierarchies(): Promise<Hierarchy[]> {
  const found: Hierarchy[] = [];
  for (const mount of await readMounts()) {
    if (!mount.mountpoint.startsWith('/sys/fs/cgroup')) continue;
    if (mount.type === 'cgroup') {
      found.push({ mountpoint: mount.mountpoint, version: 1, controllers: mount.superOptions.filter((o) => V1_CONTROLLERS.includes(o)) });
    } else if (mount.type === 'cgroup2') {
      const text = await readFile(join(mount.mountpoint, 'cgroup.controllers'), 'utf8').catch(() => '');
      found.push({ mountpoint: mount.mountpoint, version: 2, controllers: text.trim().split(' ').filter(Boolean) });
    }
  }
  return found;
}

/** True when the controllers that pods need live in v1 hierarchies (also on hybrid hosts). */
export async function isCgroupV1(): Promise<boolean> {
  return (await cgroupHierarchies()).some((h) => h.version === 1 && h.controllers.includes('memory'));
}

/** Creates `/name` in every hierarchy, ready to hold child groups (cpuset filled in on v1, controllers passed on in v2). */
export async function createCgroup(name: string): Promise<void> {
  for (const h of await cgroupHierarchies()) {
    const path = join(h.mountpoint, name);
    if (h.version === 2) {
      for (const c of h.controllers) await writeFile(join(h.mountpoint, 'cgroup.subtree_control'), `+${c}`).catch(() => {});
    }
    await mkdir(path, { recursive: true });
    if (h.version === 1 && h.controllers.includes('cpuset')) {
      // A v1 cpuset takes no process before both are set.
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        await writeFile(join(path, file), await readFile(join(h.mountpoint, file), 'utf8'));
    }
  }
}

/** Folders of the cgroup `/name` and all below it in every hierarchy, children before parents. */
export async function cgroupFolders(name: string): Promise<string[]> {
  const folders: string[] = [];
  for (const h of await cgroupHierarchies()) await collect(join(h.mountpoint, name), folders);
  return folders;
}

async function collect(path: string, into: string[]): Promise<void> {
  let entries: import('node:fs').Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch {
    return;
  }
  for (const e of entries) if (e.isDirectory()) await collect(join(path, e.name), into);
  into.push(path);
}

/** Process ids in the given cgroup folders, this process never among them. */
export async function pidsInCgroups(folders: readonly string[]): Promise<number[]> {
  const pids = new Set<number>();
  for (const folder of folders) {
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
  }
  pids.delete(process.pid);
  return [...pids];
}

/** Lets frozen groups run, so that the processes in them can die. */
export async function thawCgroups(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    await writeFile(join(folder, 'freezer.state'), 'THAWED', { flag: 'r+' }).catch(() => {});
    await writeFile(join(folder, 'cgroup.freeze'), '0', { flag: 'r+' }).catch(() => {});
  }
}

/** Removes `/name` with all below it; groups whose processes are just dying are tried again for `timeoutMs`. Returns what stayed. */
export async function removeCgroup(name: string, timeoutMs = 5_000): Promise<string[]> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    for (const folder of await cgroupFolders(name)) await rmdir(folder).catch(() => {});
    const left = await cgroupFolders(name);
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(20);
  }
}
