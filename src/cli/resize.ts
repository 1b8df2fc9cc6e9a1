import type { ResolvedConfig } from '../config/resolve.ts';
import type { CriStats } from '../cri/ports.ts';
import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import type { ResizePort } from '../kubelet/resize.ts';
import type { Metrics } from '../observe/metrics.ts';
import { resizeMetrics } from '../observe/resize-metrics.ts';
import { PodCgroupResize, type PodGroups } from '../resources/pod-cgroup-resize.ts';
import { maySwap } from '../sync/container-resources.ts';
import type { NodeSettings } from '../sync/node-settings.ts';

export interface NodeResizeInput {
  config: Pick<ResolvedConfig, 'gates' | 'cpuManagerPolicy' | 'memoryManagerPolicy'>;
  node: NodeSettings;
  cgroupFs: CgroupFs;
  cgroups: PodGroups;
  stats: Pick<CriStats, 'containerStats'>;
  registry: Metrics;
}

/** In-place resizes on this machine. */
export function nodeResize({ config, node, cgroupFs, cgroups, stats, registry }: NodeResizeInput): ResizePort {
  const { gates, cpuManagerPolicy, memoryManagerPolicy } = config;
  const hasSwap = node.cgroupVersion === 2 && node.swapControllerAvailable;
  return {
    node: {
      gates: {
        podLevel: gates.enabled('InPlacePodLevelResourcesVerticalScaling'),
        initContainers: gates.enabled('InPlacePodVerticalScalingInitContainers'),
      },
      fixedCpus: cpuManagerPolicy === 'static' && !gates.enabled('InPlacePodVerticalScalingExclusiveCPUs'),
      fixedMemory: memoryManagerPolicy === 'Static' && !gates.enabled('InPlacePodVerticalScalingExclusiveMemory'),
      preempts: !gates.enabled('InPlacePodVerticalScalingSchedulerPreemption'),
      maySwap: (pod, container) => hasSwap && maySwap(pod, container, node),
    },
    cgroups: new PodCgroupResize(cgroupFs, cgroups),
    containerMemoryUsage: async (id) => (await stats.containerStats(id)).memory?.usageBytes,
    metrics: resizeMetrics(registry),
  };
}
