import { quantityOf, resourcesOf } from '../api/resources.ts';
import type { ResourceList } from '../api/types.ts';
import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import type { CgroupSettings } from '../host/cgroups/settings.ts';
import { milliCpuToShares } from './cpu.ts';
import { hugePageLimits } from './pod-cgroup-config.ts';

/** A group outside the pods' that is held to what is reserved for it. */
export interface ReservedCgroup {
  kind: 'System' | 'Kube';
  /** The configuration field that names the group. */
  field: 'systemReservedCgroup' | 'kubeReservedCgroup';
  path: string;
  reserved: ResourceList;
  /** CPU alone: nothing of it can be refused to a process that has it. */
  compressibleOnly: boolean;
}

export interface ReservedCgroupFields {
  enforceNodeAllocatable: readonly string[];
  systemReservedCgroup: string;
  kubeReservedCgroup: string;
}

export interface ReservedCgroupsDeps {
  /** Control groups of which that one and those below it may be changed. */
  open(path: string): Promise<Pick<CgroupFs, 'version' | 'exists' | 'set'>>;
  /** Takes the node's events. */
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** The MemoryQoS gate: on cgroup v2 what is reserved is protected, too. */
  memoryQoS: boolean;
}

/** The groups that enforceNodeAllocatable names, in the order in which they are set. */
export function reservedCgroups(
  fields: ReservedCgroupFields,
  reservations: { systemReserved: ResourceList; kubeReserved: ResourceList },
  pathOf: (name: string) => string,
): ReservedCgroup[] {
  const system = {
    kind: 'System',
    field: 'systemReservedCgroup',
    path: pathOf(fields.systemReservedCgroup),
    reserved: reservations.systemReserved,
  } as const;
  const kube = {
    kind: 'Kube',
    field: 'kubeReservedCgroup',
    path: pathOf(fields.kubeReservedCgroup),
    reserved: reservations.kubeReserved,
  } as const;
  const all: [string, ReservedCgroup][] = [
    ['system-reserved', { ...system, compressibleOnly: false }],
    ['kube-reserved', { ...kube, compressibleOnly: false }],
    ['system-reserved-compressible', { ...system, compressibleOnly: true }],
    ['kube-reserved-compressible', { ...kube, compressibleOnly: true }],
  ];
  return all.filter(([entry]) => fields.enforceNodeAllocatable.includes(entry)).map(([, group]) => group);
}

/** What a group is held to. What is not reserved is not limited. */
export function reservedSettings({ reserved, compressibleOnly }: ReservedCgroup, memoryQoS: boolean): CgroupSettings {
  const has = (name: string) => Object.hasOwn(reserved, name);
  const value = (name: string) => Number(quantityOf(reserved, name).value());
  const cpu = has('cpu') ? { cpuShares: milliCpuToShares(Number(quantityOf(reserved, 'cpu').milliValue())) } : {};
  if (compressibleOnly) return cpu;
  return {
    ...cpu,
    ...(has('memory') ? { memory: value('memory') } : {}),
    ...(has('pid') ? { pids: value('pid') } : {}),
    hugetlb: hugePageLimits(resourcesOf(reserved)),
    ...(memoryQoS && has('memory') ? { unified: { 'memory.min': String(value('memory')) } } : {}),
  };
}

/**
 * Holds the groups of the system and of the agent to what is reserved for them. They must exist. Rejects, after an event of the node, when one does
 * not or when the kernel refuses a limit: it may be below what is in use. Source: contract node.md §4.
 */
export async function enforceReserved(
  groups: readonly ReservedCgroup[],
  { open, nodeEvent, memoryQoS }: ReservedCgroupsDeps,
): Promise<void> {
  for (const group of groups) {
    const { kind, field, path, compressibleOnly } = group;
    try {
      const fs = await open(path);
      if (!(await fs.exists(path))) throw new Error(`${field}: the control group does not exist in every hierarchy; create it first`);
      const refusals = await fs.set(path, reservedSettings(group, memoryQoS && fs.version === 2));
      if (refusals.length > 0) throw new Error(refusals.map(({ file, value, message }) => `${file} = ${value}: ${message}`).join(', '));
    } catch (err) {
      const what = `${kind} Reserved${compressibleOnly ? ' Compressible' : ''} Cgroup Limits`;
      const message = `Failed to enforce ${what} on ${JSON.stringify(path)}: ${err instanceof Error ? err.message : String(err)}`;
      nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new Error(message, { cause: err });
    }
    nodeEvent('Normal', 'NodeAllocatableEnforced', `Updated limits on ${kind.toLowerCase()} reserved cgroup ${path}`);
  }
}
