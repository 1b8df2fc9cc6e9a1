import { CpuSet } from '../api/cpuset.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { Clock } from '../host/clock.ts';
import { onlineCpus } from '../host/machine.ts';
import { type CgroupDriver, cgroupPath, parseCgroupfs, parseSystemd } from '../resources/cgroup-names.ts';
import { type MachineCapacity, podsLimits, type Reservations } from '../resources/node-allocatable.ts';
import type { PodCgroupsOptions } from '../resources/pod-cgroups.ts';
import { qosReservePercent } from '../resources/qos-reserve.ts';
import { reservationsOf } from '../resources/reservations.ts';
import { enforceReserved, type ReservedCgroupsDeps, reservedCgroups } from '../resources/reserved-cgroups.ts';
import { openDriver } from './cgroup-driver.ts';

/** What this machine's configuration sets aside. Rejects where reservedSystemCPUs names a CPU that is not online. */
export async function nodeReservations(config: ResolvedConfig): Promise<Reservations> {
  return reservationsOf(config, config.reservedSystemCPUs === '' ? CpuSet.empty : CpuSet.of(await onlineCpus()));
}

/** Memory that QoS classes keep from those below, where the configuration asks for it. */
export function qosReserve(
  config: ResolvedConfig,
  machine: MachineCapacity,
  reservations: Reservations,
): Pick<PodCgroupsOptions, 'qosReserve'> {
  const percent = qosReservePercent(config.qosReserved);
  return percent === undefined ? {} : { qosReserve: { percent, allocatable: podsLimits(machine, reservations, ['pods']).memory } };
}

/** Holds the groups that enforceNodeAllocatable names beside the pods' to their reservations. Rejects when that cannot be done. */
export async function enforceReservations(
  config: ResolvedConfig,
  reservations: Reservations,
  driver: CgroupDriver,
  clock: Clock,
  nodeEvent: ReservedCgroupsDeps['nodeEvent'],
): Promise<void> {
  const pathOf = (name: string) => cgroupPath(driver === 'systemd' ? parseSystemd(name) : parseCgroupfs(name), driver);
  const groups = reservedCgroups(config, reservations, pathOf);
  const open = (path: string) => openDriver(driver, path, clock);
  await enforceReserved(groups, { open, nodeEvent, memoryQoS: config.gates.enabled('MemoryQoS') });
}
