/** Machines as /sys tells of them: file below the root to its text. Written after real machines of each kind. */
export type MachineTree = Readonly<Record<string, string>>;

interface Cpu {
  cpu: number;
  core: number;
  socket: number;
  /** Id and CPUs of the third-level cache. */
  l3?: { id?: number; cpus: string };
}

interface Node {
  id: number;
  cpus: string;
  memoryMiB?: number;
  distance: string;
  hugepages?: Record<string, number>;
}

const SYSTEM = 'sys/devices/system';

function tree(online: string, cpus: readonly Cpu[], nodes: readonly Node[]): MachineTree {
  const files: Record<string, string> = { [`${SYSTEM}/cpu/online`]: online, [`${SYSTEM}/cpu/cpufreq/boost`]: '1' };
  for (const { cpu, core, socket, l3 } of cpus) {
    const at = `${SYSTEM}/cpu/cpu${cpu}`;
    files[`${at}/topology/core_id`] = String(core);
    files[`${at}/topology/physical_package_id`] = String(socket);
    if (l3 === undefined) continue;
    files[`${at}/cache/index0/level`] = '1';
    files[`${at}/cache/index0/shared_cpu_list`] = String(cpu);
    files[`${at}/cache/index3/level`] = '3';
    files[`${at}/cache/index3/shared_cpu_list`] = l3.cpus;
    if (l3.id === undefined) continue;
    files[`${at}/cache/index0/id`] = String(cpu);
    files[`${at}/cache/index3/id`] = String(l3.id);
  }
  for (const { id, cpus: own, memoryMiB, distance, hugepages } of nodes) {
    const at = `${SYSTEM}/node/node${id}`;
    files[`${at}/cpulist`] = own;
    files[`${at}/distance`] = distance;
    if (memoryMiB !== undefined) files[`${at}/meminfo`] = `Node ${id} MemTotal:       ${memoryMiB * 1024} kB\nNode ${id} MemFree:  123 kB`;
    for (const [name, count] of Object.entries(hugepages ?? {})) files[`${at}/hugepages/${name}/nr_hugepages`] = String(count);
  }
  return files;
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

export const machineTrees = {
  /** Two sockets of four cores with two threads; the second threads come last. */
  twoSockets: tree(
    '0-15',
    range(16).map((cpu) => {
      const core = cpu % 8;
      const socket = Math.floor(core / 4);
      return { cpu, core: core % 4, socket, l3: { id: socket, cpus: socket === 0 ? '0-3,8-11' : '4-7,12-15' } };
    }),
    [
      { id: 0, cpus: '0-3,8-11', memoryMiB: 65536, distance: '10 21', hugepages: { 'hugepages-2048kB': 256, 'hugepages-1048576kB': 0 } },
      { id: 1, cpus: '4-7,12-15', memoryMiB: 65536, distance: '21 10', hugepages: { 'hugepages-2048kB': 0, 'hugepages-1048576kB': 0 } },
    ],
  ),
  /** One socket of four cores whose second threads are switched off; their directories are still there. */
  smtOff: tree(
    '0-3',
    range(8).map((cpu) => ({ cpu, core: cpu % 4, socket: 0, l3: { id: 0, cpus: '0-3' } })),
    [{ id: 0, cpus: '0-3', memoryMiB: 16384, distance: '10' }],
  ),
  /** A socket whose memory slots are empty, and memory behind a link without CPUs. */
  oddNodes: tree(
    '0-3',
    range(4).map((cpu) => ({
      cpu,
      core: cpu % 2,
      socket: Math.floor(cpu / 2),
      l3: { id: Math.floor(cpu / 2), cpus: cpu < 2 ? '0-1' : '2-3' },
    })),
    [
      { id: 0, cpus: '0-1', memoryMiB: 16384, distance: '10 20 40' },
      { id: 1, cpus: '2-3', distance: '20 10 40' },
      { id: 8, cpus: '', memoryMiB: 32768, distance: '40 40 10' },
    ],
  ),
  /** Two performance cores with two threads, four efficient ones with one. */
  hybrid: tree(
    '0-7',
    range(8).map((cpu) => ({ cpu, core: cpu < 4 ? Math.floor(cpu / 2) * 4 : 4 + cpu, socket: 0, l3: { id: 0, cpus: '0-7' } })),
    [{ id: 0, cpus: '0-7', memoryMiB: 32768, distance: '10' }],
  ),
  /** Four cores in two groups, each with a cache of its own. */
  splitCache: tree(
    '0-7',
    range(8).map((cpu) => ({ cpu, core: cpu % 4, socket: 0, l3: cpu % 4 < 2 ? { id: 0, cpus: '0-1,4-5' } : { id: 1, cpus: '2-3,6-7' } })),
    [{ id: 0, cpus: '0-7', memoryMiB: 32768, distance: '10' }],
  ),
  /** Each CPU a socket, no caches, no huge pages. */
  smallVm: tree(
    '0-1',
    range(2).map((cpu) => ({ cpu, core: 0, socket: cpu })),
    [{ id: 0, cpus: '0-1', memoryMiB: 2048, distance: '10' }],
  ),
  /** A kernel without NUMA. */
  noNuma: tree(
    '0-3',
    range(4).map((cpu) => ({ cpu, core: cpu % 2, socket: Math.floor(cpu / 2) })),
    [],
  ),
} satisfies Record<string, MachineTree>;
