import type { StringMap } from '../api/types.ts';
import type { SeccompSettings } from './security-profiles.ts';

/** What of the node and its configuration goes into the configs of sandboxes and containers. Sizes in bytes. */
export interface NodeSettings extends SeccompSettings {
  cgroupVersion: 1 | 2;
  memory: number;
  swap: number;
  /** Page sizes that the kernel offers, in bytes. */
  hugepageSizes: readonly number[];
  /** Memory page size in bytes. */
  pageSize: number;
  /** True when the kernel accounts swap per control group. */
  swapControllerAvailable: boolean;
  cpuCFSQuota: boolean;
  /** Microseconds. */
  cpuCFSQuotaPeriodUs: number;
  /** v2: an out-of-memory kill takes one process and not the whole container. */
  singleProcessOOMKill: boolean;
  /** The MemoryQoS gate; it has an effect on cgroup v2 only. */
  memoryQoS: boolean;
  memoryReservationPolicy: string;
  memoryThrottlingFactor?: number;
  swapBehavior: 'NoSwap' | 'LimitedSwap';
  /** Machine.thermalThrottlePaths. */
  extraMaskedPaths: readonly string[];
  /** Sysctls that every pod gets unless it shares the host's namespace or sets its own (DefaultPodSysctls). */
  defaultPodSysctls?: StringMap;
  /** The ContainerStopSignals gate. */
  containerStopSignals: boolean;
}
