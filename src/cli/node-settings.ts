import { posix } from 'node:path';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import type { Machine } from '../host/machine.ts';
import type { NodeSettings } from '../sync/node-settings.ts';

/** What the node's settings and its machine say about every container. */
export function nodeSettings(
  config: ResolvedConfig,
  flags: KubeletFlags,
  machine: Machine,
  cgroupVersion: 1 | 2,
  swapAccounted: boolean,
): NodeSettings {
  return {
    cgroupVersion,
    memory: machine.memory,
    swap: machine.swap,
    hugepageSizes: machine.hugepages.map((h) => h.pageSize),
    pageSize: 4096,
    swapControllerAvailable: swapAccounted,
    cpuCFSQuota: config.cpuCFSQuota,
    cpuCFSQuotaPeriodUs: config.cpuCFSQuotaPeriodMs * 1000,
    singleProcessOOMKill: config.singleProcessOOMKill ?? cgroupVersion === 1,
    memoryQoS: config.gates.enabled('MemoryQoS'),
    memoryReservationPolicy: config.memoryReservationPolicy,
    ...(config.memoryThrottlingFactor === undefined ? {} : { memoryThrottlingFactor: config.memoryThrottlingFactor }),
    swapBehavior: config.memorySwap.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
    extraMaskedPaths: machine.thermalThrottlePaths,
    defaultPodSysctls: config.defaultPodSysctls,
    containerStopSignals: config.gates.enabled('ContainerStopSignals'),
    seccompDefault: config.seccompDefault || flags.seccompDefault,
    seccompProfileRoot: posix.join(flags.rootDir, 'seccomp'),
  };
}
