import { CpuSet } from '../api/cpuset.ts';
import { Quantity } from '../api/quantity.ts';
import type { Resources } from '../api/resources.ts';
import type { ResourceList } from '../api/types.ts';
import type { Reservations } from './node-allocatable.ts';

/** The fields of the configuration that set something aside. */
export interface ReservedFields {
  systemReserved: ResourceList;
  kubeReserved: ResourceList;
  evictionHard: Readonly<Record<string, string>>;
  /** A kernel list; empty for none. */
  reservedSystemCPUs: string;
}

/**
 * What is set aside. reservedSystemCPUs stands for all reserved CPUs: their number is the system's share, and the agent has none of its own. Throws
 * where it names CPUs that are not online. Source: contract flags-config.md §3.
 */
export function reservationsOf(fields: ReservedFields, online: CpuSet): Reservations {
  const { systemReserved, kubeReserved, evictionHard } = fields;
  const reserved = CpuSet.parse(fields.reservedSystemCPUs);
  if (reserved.isEmpty) return { systemReserved, kubeReserved, evictionHard };
  const missing = reserved.difference(online);
  if (!missing.isEmpty) {
    throw new Error(`reservedSystemCPUs: ${reserved} names CPUs that are not online: ${missing}; this machine has ${online}`);
  }
  const { cpu: _, ...others } = kubeReserved;
  return { systemReserved: { ...systemReserved, cpu: String(reserved.size) }, kubeReserved: others, evictionHard };
}

/** CPUs that are kept from pods, as whole ones. */
export function reservedCpuCount(reservation: Resources): number {
  return Math.ceil(Number((reservation.get('cpu') ?? Quantity.zero).milliValue()) / 1000);
}
