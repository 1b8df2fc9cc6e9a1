import { access, readdir, readFile } from 'node:fs/promises';
import { cpus, endianness, arch as osArch, release } from 'node:os';
import type { Bytes, Millicpu } from '../api/brands.ts';
import { bytes, millicpu } from '../api/brands.ts';

/** What the machine is and has, as the node's status, node allocatable and the containers' resources need it. */
export interface Machine {
  /** Online CPUs in thousandths. */
  cpu: Millicpu;
  memory: Bytes;
  /** Total swap, 0 without any. */
  swap: Bytes;
  /** Sizes the kernel offers, ascending, with the bytes that are set aside for each. */
  hugepages: { pageSize: Bytes; total: Bytes }[];
  /** The system-wide limit on tasks: the smaller of pid_max and threads-max; undefined when neither can be read. */
  maxPids?: number;
  kernelVersion: string;
  bootId: string;
  machineId: string;
  systemUuid: string;
  /** PRETTY_NAME of os-release. */
  osImage: string;
  /** GOARCH spelling: `amd64`, `arm64`, ... */
  architecture: string;
  /** Per-CPU directories that a container may not see (contract pod-lifecycle.md §13, masked paths). */
  thermalThrottlePaths: string[];
}

const OsReleaseFiles = ['/etc/os-release', '/usr/lib/os-release'];
const MachineIdFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/** Reads the machine. What cannot be read is empty or 0, as the real kubelet reports it; memory and CPUs must be there. */
export async function readMachine(root = '/'): Promise<Machine> {
  const text = (path: string) => readFile(`${root}${path.slice(1)}`, 'utf8').catch(() => '');
  const first = async (paths: readonly string[]) => {
    for (const path of paths) {
      const content = (await text(path)).trim();
      if (content !== '') return content;
    }
    return '';
  };
  const [meminfo, online, possible, bootId, machineId, uuid, osRelease, maxPids, hugepages] = await Promise.all([
    text('/proc/meminfo'),
    text('/sys/devices/system/cpu/online'),
    text('/sys/devices/system/cpu/possible'),
    text('/proc/sys/kernel/random/boot_id'),
    first(MachineIdFiles),
    first(['/sys/class/dmi/id/product_uuid', '/proc/device-tree/vm,uuid']),
    first(OsReleaseFiles),
    mostTasks(root),
    readHugepages(root),
  ]);
  const memory = meminfoBytes(meminfo, 'MemTotal');
  if (memory === 0) throw new Error('cannot read the size of memory from /proc/meminfo');
  const cpuCount = parseCpuList(online).length || cpus().length;
  return {
    cpu: millicpu(cpuCount * 1000),
    memory: bytes(memory),
    swap: bytes(meminfoBytes(meminfo, 'SwapTotal')),
    hugepages,
    ...(maxPids === undefined ? {} : { maxPids }),
    kernelVersion: release(),
    bootId: bootId.trim(),
    machineId,
    systemUuid: uuid === '' ? machineId : uuid,
    osImage: prettyName(osRelease),
    architecture: goArchitecture(),
    thermalThrottlePaths: await thermalThrottlePaths(root, parseCpuList(possible === '' ? online : possible)),
  };
}

/** The CPU numbers of a kernel list such as `0-3,8`. Empty for text of another shape. */
export function parseCpuList(text: string): number[] {
  const found: number[] = [];
  for (const part of text.trim().split(',')) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (match === null) return [];
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    for (let cpu = from; cpu <= to; cpu++) found.push(cpu);
  }
  return found;
}

/** A field of /proc/meminfo in bytes, 0 when it is missing. */
export function meminfoBytes(text: string, field: string): number {
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${field}:`)) continue;
    const kib = Number.parseInt(line.slice(field.length + 1).trim(), 10);
    return Number.isNaN(kib) ? 0 : kib * 1024;
  }
  return 0;
}

/** Bytes of swap in use. */
export async function usedSwap(root = '/'): Promise<number> {
  const text = await readFile(`${root}proc/meminfo`, 'utf8').catch(() => '');
  return meminfoBytes(text, 'SwapTotal') - meminfoBytes(text, 'SwapFree');
}

/** The most process ids there may be, and the tasks there are. What cannot be read is left out. */
export async function processLimits(root = '/'): Promise<{ maxpid?: number; curproc?: number }> {
  const [maxpid, load] = await Promise.all([mostTasks(root), readFile(`${root}proc/loadavg`, 'utf8').catch(() => '')]);
  const running = /^\S+ \S+ \S+ \d+\/(\d+)/.exec(load)?.[1];
  return { ...(maxpid === undefined ? {} : { maxpid }), ...(running === undefined ? {} : { curproc: Number(running) }) };
}

/** The smaller of pid_max and threads-max; undefined when neither can be read. */
async function mostTasks(root: string): Promise<number | undefined> {
  const files = ['pid_max', 'threads-max'].map((file) => readFile(`${root}proc/sys/kernel/${file}`, 'utf8').catch(() => ''));
  const limits = (await Promise.all(files)).map((text) => Number.parseInt(text, 10)).filter((n) => n > 0);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** Numbers of the CPUs that are online; empty where the kernel does not tell. */
export async function onlineCpus(root = '/'): Promise<number[]> {
  return parseCpuList(await readFile(`${root}sys/devices/system/cpu/online`, 'utf8').catch(() => ''));
}

/** What is set aside as huge pages, of a machine or of one NUMA node: nobody else can use it. */
export function hugepageBytes({ hugepages }: { hugepages: readonly { total: number }[] }): number {
  return hugepages.reduce((sum, { total }) => sum + total, 0);
}

async function readHugepages(root: string): Promise<Machine['hugepages']> {
  const directory = `${root}sys/kernel/mm/hugepages`;
  const names = await readdir(directory).catch(() => []);
  const found = names.map(async (name) => ({ name, count: await readFile(`${directory}/${name}/nr_hugepages`, 'utf8').catch(() => '') }));
  return hugepagesOf(await Promise.all(found));
}

/** Of the directories `hugepages-2048kB` and the like with the text of their nr_hugepages; ascending. */
export function hugepagesOf(found: readonly { name: string; count: string }[]): Machine['hugepages'] {
  return found
    .flatMap(({ name, count }) => {
      const pageSize = Number(/^hugepages-(\d{1,12})kB$/.exec(name)?.[1] ?? 0) * 1024;
      const pages = Number.parseInt(count, 10);
      return pageSize === 0 ? [] : [{ pageSize: bytes(pageSize), total: bytes(pageSize * (Number.isNaN(pages) ? 0 : pages)) }];
    })
    .sort((a, b) => a.pageSize - b.pageSize);
}

async function thermalThrottlePaths(root: string, cpuNumbers: readonly number[]): Promise<string[]> {
  const paths = cpuNumbers.map((cpu) => `/sys/devices/system/cpu/cpu${cpu}/thermal_throttle`);
  const present = await Promise.all(
    paths.map((path) =>
      access(`${root}${path.slice(1)}`).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, index) => present[index]);
}

function prettyName(osRelease: string): string {
  for (const line of osRelease.split('\n')) {
    if (line.startsWith('PRETTY_NAME='))
      return line
        .slice('PRETTY_NAME='.length)
        .trim()
        .replace(/^"(.*)"$/, '$1');
  }
  return '';
}

function goArchitecture(): string {
  const name = osArch();
  if (name === 'x64') return 'amd64';
  if (name === 'ia32') return '386';
  return name === 'ppc64' && endianness() === 'LE' ? 'ppc64le' : name;
}
