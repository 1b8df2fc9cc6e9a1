import { readdir, readFile } from 'node:fs/promises';
import { hugepagesOf, meminfoBytes, parseCpuList } from './machine.ts';

/** One physical core with the CPUs (threads) that are online, ascending. */
export interface PhysicalCore {
  threads: number[];
  socket: number;
  /** Id of the last-level cache, where it is shared by some cores of the node only. */
  uncore?: number;
}

/** One NUMA node. */
export interface NumaNode {
  id: number;
  /** Bytes; 0 where the kernel does not tell. */
  memory: number;
  /** Page size and total size in bytes. */
  hugepages: { pageSize: number; total: number }[];
  /** Distances to all nodes in the order of their ids, 10 to itself; absent where the kernel does not tell. */
  distances?: number[];
  /** Empty for a node of memory alone. */
  cores: PhysicalCore[];
}

/** One cache of a CPU. `id` is absent on kernels and machines that do not number caches. */
interface CacheText {
  id?: number;
  level: number;
  /** How many CPUs share it. */
  shared: number;
}

/** What /sys tells of one CPU. */
export interface CpuText {
  cpu: number;
  coreId: number;
  packageId: number;
  caches: CacheText[];
}

/** What /sys tells of one NUMA node. */
export interface NodeText {
  id: number;
  cpus: number[];
  meminfo: string;
  distance: string;
  hugepages: { name: string; count: string }[];
}

const SYSTEM = 'sys/devices/system';

/**
 * Reads the machine's NUMA nodes with their cores. Without NUMA in the kernel each socket counts as a node of unknown memory, as the real kubelet
 * has it. Throws when no CPU can be read.
 */
export async function readNumaNodes(root = '/'): Promise<NumaNode[]> {
  const text = (path: string) => readFile(`${root}${SYSTEM}/${path}`, 'utf8').catch(() => '');
  const list = (path: string) => readdir(`${root}${SYSTEM}/${path}`).catch(() => []);
  const online = new Set(parseCpuList(await text('cpu/online')));
  const all = numbered(await list('cpu'), 'cpu').filter((cpu) => online.size === 0 || online.has(cpu));
  const cpus = (await Promise.all(all.map((cpu) => readCpu(cpu, text, list)))).filter((cpu) => cpu !== undefined);
  if (cpus.length === 0) throw new Error(`no CPU can be read below ${root}${SYSTEM}/cpu`);
  const nodes = await Promise.all(
    numbered(await list('node'), 'node').map(async (id): Promise<NodeText> => {
      const [cpulist, meminfo, distance, sizes] = await Promise.all([
        text(`node/node${id}/cpulist`),
        text(`node/node${id}/meminfo`),
        text(`node/node${id}/distance`),
        list(`node/node${id}/hugepages`),
      ]);
      const hugepages = sizes.map(async (name) => ({ name, count: await text(`node/node${id}/hugepages/${name}/nr_hugepages`) }));
      return { id, cpus: parseCpuList(cpulist), meminfo, distance, hugepages: await Promise.all(hugepages) };
    }),
  );
  return numaNodesOf(cpus, nodes);
}

type ReadText = (path: string) => Promise<string>;

async function readCpu(cpu: number, text: ReadText, list: (path: string) => Promise<string[]>): Promise<CpuText | undefined> {
  const directory = `cpu/cpu${cpu}`;
  const [core, socket, names] = await Promise.all([
    text(`${directory}/topology/core_id`),
    text(`${directory}/topology/physical_package_id`),
    list(`${directory}/cache`),
  ]);
  const [coreId, packageId] = [integer(core), integer(socket)];
  if (coreId === undefined || packageId === undefined) return undefined;
  const caches = numbered(names, 'index').map(async (index) => {
    const at = `${directory}/cache/index${index}`;
    const [id, level, shared] = await Promise.all([text(`${at}/id`), text(`${at}/level`), text(`${at}/shared_cpu_list`)]);
    const number = integer(id);
    return { ...(number === undefined ? {} : { id: number }), level: integer(level) ?? 0, shared: parseCpuList(shared).length };
  });
  return { cpu, coreId, packageId, caches: await Promise.all(caches) };
}

/** Puts together what /sys told. Pure. */
export function numaNodesOf(cpus: readonly CpuText[], nodes: readonly NodeText[]): NumaNode[] {
  if (nodes.length === 0) {
    return [...Map.groupBy(cpus, (cpu) => cpu.packageId)]
      .map(([id, own]) => ({ id, memory: 0, hugepages: [], cores: coresOf(own) }))
      .sort((a, b) => a.id - b.id);
  }
  return nodes
    .map((node): NumaNode => {
      const distances = node.distance.trim().split(/\s+/).map(Number);
      return {
        id: node.id,
        memory: nodeMemory(node.meminfo),
        hugepages: hugepagesOf(node.hugepages),
        ...(node.distance.trim() === '' || distances.some(Number.isNaN) ? {} : { distances }),
        cores: coresOf(cpus.filter(({ cpu }) => node.cpus.includes(cpu))),
      };
    })
    .sort((a, b) => a.id - b.id);
}

function coresOf(cpus: readonly CpuText[]): PhysicalCore[] {
  const groups = [
    ...Map.groupBy(
      cpus.toSorted((a, b) => a.cpu - b.cpu),
      ({ coreId, packageId }) => `${packageId}:${coreId}`,
    ).values(),
  ];
  const cores: PhysicalCore[] = [];
  let hasCaches = true;
  for (const threads of groups) {
    const [first] = threads;
    if (first === undefined) continue;
    // A cache without number ends the reading of caches for the node, as the real kubelet has it.
    hasCaches &&= first.caches.every((cache) => cache.id !== undefined);
    const partial = hasCaches
      ? first.caches.find(({ level, shared }) => level > 2 && shared !== groups.length * threads.length)
      : undefined;
    cores.push({
      threads: threads.map(({ cpu }) => cpu),
      socket: first.packageId,
      ...(partial?.id === undefined ? {} : { uncore: partial.id }),
    });
  }
  return cores;
}

/** `Node 0 MemTotal:       16318252 kB` in bytes. */
function nodeMemory(meminfo: string): number {
  return meminfoBytes(meminfo.replaceAll(/^Node\s+\d+\s+/gm, ''), 'MemTotal');
}

function integer(text: string): number | undefined {
  return /^-?\d{1,9}$/.test(text.trim()) ? Number(text.trim()) : undefined;
}

/** The numbers of names such as `cpu12`, ascending. */
function numbered(names: readonly string[], prefix: string): number[] {
  return names
    .filter((name) => name.startsWith(prefix) && /^\d{1,6}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}
