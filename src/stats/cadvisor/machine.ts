import { readdir, readFile } from 'node:fs/promises';
import type { Machine } from '../../host/machine.ts';
import type { MetricFamily, Sample } from '../exposition.ts';

/** How many of each the CPUs make up. */
export interface MachineTopology {
  physicalCores: number;
  sockets: number;
  books: number;
  drawers: number;
}

/** Counts by the kernel's topology files. What the kernel does not tell counts as the real kubelet counts it: cores as CPUs, sockets as one. */
export async function readTopology(cpus: number, root = '/sys/devices/system/cpu'): Promise<MachineTopology> {
  const names = (await readdir(root).catch(() => [])).filter((name) => /^cpu\d+$/.test(name));
  const of = async (file: string) =>
    Promise.all(names.map(async (name) => (await readFile(`${root}/${name}/topology/${file}`, 'utf8').catch(() => '')).trim()));
  const [packages, cores, books, drawers] = await Promise.all([of('physical_package_id'), of('core_id'), of('book_id'), of('drawer_id')]);
  const distinct = (ids: readonly string[]) => new Set(ids.filter((id) => id !== '' && id !== '-1')).size;
  const known = cores.some((id) => id !== '');
  return {
    physicalCores: known ? new Set(cores.map((core, i) => `${packages[i]}/${core}`)).size : cpus,
    sockets: Math.max(1, distinct(packages)),
    books: distinct(books),
    drawers: distinct(drawers),
  };
}

/** The machine's own metrics. Memory modules and persistent memory are not looked at: their figures are those of a machine that does not tell. */
export function machineFamilies(machine: Machine, topology: MachineTopology): MetricFamily[] {
  const labels = { boot_id: machine.bootId, machine_id: machine.machineId, system_uuid: machine.systemUuid };
  const gauge = (name: string, help: string, ...samples: Sample[]): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples: samples.map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } })),
  });
  const version = { kernelVersion: machine.kernelVersion, osVersion: machine.osImage };
  return [
    {
      name: 'cadvisor_version_info',
      help: 'Versions of the kernel, the system and the collector',
      type: 'gauge',
      samples: [{ value: 1, labels: { cadvisorRevision: '', cadvisorVersion: '', dockerVersion: '', ...version } }],
    },
    gauge('machine_cpu_physical_cores', 'Physical cores', { value: topology.physicalCores }),
    gauge('machine_cpu_cores', 'Logical CPUs', { value: machine.cpu / 1000 }),
    gauge('machine_cpu_sockets', 'CPU sockets', { value: topology.sockets }),
    gauge('machine_cpu_books', 'CPU books', { value: topology.books }),
    gauge('machine_cpu_drawers', 'CPU drawers', { value: topology.drawers }),
    gauge('machine_memory_bytes', 'Memory of the machine in bytes', { value: machine.memory }),
    gauge('machine_swap_bytes', 'Swap of the machine in bytes', { value: machine.swap }),
    gauge(
      'machine_nvm_capacity',
      'Persistent memory in bytes, by its use',
      { value: 0, labels: { mode: 'memory_mode' } },
      { value: 0, labels: { mode: 'app_direct_mode' } },
    ),
    gauge('machine_nvm_avg_power_budget_watts', 'Power budget of persistent memory', { value: 0 }),
    { name: 'machine_scrape_error', help: '1 if the machine could not be read, 0 otherwise', type: 'gauge', samples: [{ value: 0 }] },
  ];
}
