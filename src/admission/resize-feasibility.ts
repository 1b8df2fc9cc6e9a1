import { isResizable, type PodResourceInfo, type ResizeGates, resourceInfoOf, sameRequirements } from '../api/allocation.ts';
import { allContainers } from '../api/pod.ts';
import { getPodQOS } from '../api/qos.ts';
import { quantityOf } from '../api/resources.ts';
import type { Container, Pod } from '../api/types.ts';

/** What a node's settings say of resizes. */
export interface ResizeNode {
  gates: ResizeGates;
  /** cpuManagerPolicy is static, and InPlacePodVerticalScalingExclusiveCPUs is off. */
  fixedCpus: boolean;
  /** memoryManagerPolicy is Static, and InPlacePodVerticalScalingExclusiveMemory is off. */
  fixedMemory: boolean;
  /** Others are stopped for a critical pod that asks for more: InPlacePodVerticalScalingSchedulerPreemption is off. */
  preempts: boolean;
  /** Whether a container may use swap. */
  maySwap(pod: Pod, container: Container): boolean;
}

/** Why a resize can never be done here. `detail` is the label of the metric. */
export interface Infeasible {
  detail: string;
  message: string;
}

/**
 * What makes a resize impossible on this node until its spec changes again; undefined when it is a matter of room only.
 * `allocated` is the pod with what it has. Source: contract pod-lifecycle.md §20.
 */
export function infeasibleResize(pod: Pod, allocated: Pod, node: ResizeNode): Infeasible | undefined {
  if (changesSwapShare(pod, allocated, node)) {
    return { detail: 'swap_limitation', message: 'In-place resize of containers with swap is not supported.' };
  }
  if (!node.gates.podLevel && !sameRequirements(pod.spec.resources, allocated.spec.resources)) {
    return { detail: 'plr_feature_gate_off', message: 'InPlacePodLevelResourcesVerticalScaling is disabled' };
  }
  if (getPodQOS(pod) !== 'Guaranteed') return undefined;
  if (node.fixedCpus && changesRequest(pod, allocated, 'cpu', node.gates)) {
    return {
      detail: 'guaranteed_pod_cpu_manager_static_policy',
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    };
  }
  if (node.fixedMemory && changesRequest(pod, allocated, 'memory', node.gates)) {
    return {
      detail: 'guaranteed_pod_memory_manager_static_policy',
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    };
  }
  return undefined;
}

/** A container's share of the swap follows its memory request, and is set at its start only. */
function changesSwapShare(pod: Pod, allocated: Pod, node: ResizeNode): boolean {
  const before = new Map([...allContainers(allocated)].map(({ container }) => [container.name, container]));
  return [...allContainers(pod)].some(({ container }) => {
    const old = before.get(container.name);
    if (old === undefined) return false;
    if (quantityOf(container.resources?.requests, 'memory').equals(quantityOf(old.resources?.requests, 'memory'))) return false;
    if (old.resizePolicy?.find((p) => p.resourceName === 'memory')?.restartPolicy === 'RestartContainer') return false;
    return node.maySwap(pod, container) || node.maySwap(allocated, old);
  });
}

/** Requests and limits of a Guaranteed pod are the same. */
function changesRequest(pod: Pod, allocated: Pod, name: 'cpu' | 'memory', gates: ResizeGates): boolean {
  const old: PodResourceInfo = resourceInfoOf(allocated, gates);
  return [...allContainers(pod)].some((found) => {
    if (!isResizable(found, gates)) return false;
    const { container } = found;
    return !quantityOf(container.resources?.requests, name).equals(quantityOf(old.containers[container.name]?.requests, name));
  });
}
