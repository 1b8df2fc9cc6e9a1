import type { NodeSettings } from '../../src/sync/node-settings.ts';

/** A node of 8 GiB with 2 MiB and 1 GiB pages, for tests. */
export function testNodeSettings(more: Partial<NodeSettings> = {}): NodeSettings {
  return {
    cgroupVersion: 1,
    memory: 8 * 1024 ** 3,
    swap: 4 * 1024 ** 3,
    hugepageSizes: [2 * 1024 ** 2, 1024 ** 3],
    pageSize: 4096,
    swapControllerAvailable: false,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodUs: 100_000,
    singleProcessOOMKill: false,
    memoryQoS: true,
    memoryReservationPolicy: 'None',
    swapBehavior: 'NoSwap',
    extraMaskedPaths: [],
    containerStopSignals: false,
    seccompDefault: false,
    seccompProfileRoot: '/var/lib/kubelet/seccomp',
    ...more,
  };
}
