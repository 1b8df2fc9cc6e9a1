import type { ResolvedConfig } from '../config/resolve.ts';
import type { ConnectedRuntime } from '../cri/connect.ts';
import { isCriError } from '../cri/errors.ts';
import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import { openCgroupFs } from '../host/cgroups/node-cgroup-fs.ts';
import { SystemdCgroupFs } from '../host/cgroups/systemd-cgroup-fs.ts';
import type { Clock } from '../host/clock.ts';
import { SystemdManager } from '../host/systemd/units.ts';
import type { Logger } from '../observe/log.ts';
import type { CgroupDriver } from '../resources/cgroup-names.ts';
import type { PodCgroupsOptions } from '../resources/pod-cgroups.ts';

/** The runtime's own setting wins where it tells (contract: compat-matrix §2, RuntimeConfig). */
export async function cgroupDriver(runtime: ConnectedRuntime, config: ResolvedConfig, log: Logger): Promise<CgroupDriver> {
  const configured: CgroupDriver = config.cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs';
  try {
    const told = await runtime.runtime.runtimeConfig();
    if (told === undefined) return configured;
    if (told !== configured) log.info('Using cgroup driver setting received from the CRI runtime', { cgroupDriver: told });
    return told;
  } catch (err) {
    if (!isCriError(err, 'Unimplemented')) throw err;
    log.debug(2, 'CRI implementation should be updated to support RuntimeConfig. Falling back to using cgroupDriver from kubelet config.');
    return configured;
  }
}

/** The control groups of pods by that driver. Rejects when the machine has none mounted, or no systemd to ask. */
export async function openDriver(driver: CgroupDriver, scope: string, clock: Clock): Promise<CgroupFs> {
  const files = await openCgroupFs(scope, clock);
  if (driver === 'cgroupfs') return files;
  return new SystemdCgroupFs(files, new SystemdManager(clock), scope);
}

/** What the pods' control groups go by. */
export function cgroupOptions(config: ResolvedConfig, driver: CgroupDriver, limits: PodCgroupsOptions['limits']): PodCgroupsOptions {
  return {
    cgroupDriver: driver,
    cgroupRoot: config.cgroupRoot,
    cgroupsPerQOS: config.cgroupsPerQOS,
    podPidsLimit: config.podPidsLimit,
    cpuCFSQuota: config.cpuCFSQuota,
    cpuCFSQuotaPeriodUs: config.cpuCFSQuotaPeriodMs * 1000,
    memoryQoS: config.gates.enabled('MemoryQoS'),
    memoryReservationPolicy: config.memoryReservationPolicy,
    ...(config.memoryThrottlingFactor === undefined ? {} : { memoryThrottlingFactor: config.memoryThrottlingFactor }),
    limits,
  };
}
