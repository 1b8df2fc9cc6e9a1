import { exponentialBuckets, type Metrics } from '../observe/metrics.ts';

export type AlignmentScope = 'container' | 'pod';
export type AlignmentBoundary = 'numa_node' | 'physical_cpu' | 'uncore_cache';
export type ManagedResource = 'cpu' | 'memory';

/** What the resource managers count. Names and labels: contract metrics.md §1a. */
export interface ManagerMetrics {
  /** kubelet_{cpu,memory}_manager_pinning_requests_total, and the errors; kubelet_resource_manager_*. */
  pinned(resource: ManagedResource, outcome: 'new' | 'known' | 'failed'): void;
  /** kubelet_cpu_manager_shared_pool_size_millicores, _exclusive_cpu_allocation_count, _allocation_per_numa. */
  cpus(sharedMillicores: number, exclusive: number, perNuma: ReadonlyMap<number, number>): void;
  /** kubelet_topology_manager_admission_requests_total, _errors_total, _duration_ms. */
  admitted(milliseconds: number, failed: boolean): void;
  /** kubelet_container_aligned_compute_resources_count, _failure_count. */
  aligned(scope: AlignmentScope, boundary: AlignmentBoundary, failed: boolean): void;
  /** Makes a series appear with 0. */
  prepare(scope: AlignmentScope, boundary: AlignmentBoundary, withFailures: boolean): void;
}

export const noManagerMetrics: ManagerMetrics = { pinned() {}, cpus() {}, admitted() {}, aligned() {}, prepare() {} };

export function createManagerMetrics(metrics: Metrics): ManagerMetrics {
  const requests = {
    cpu: metrics.counter('kubelet_cpu_manager_pinning_requests_total', '[ALPHA] Containers that asked for CPUs of their own'),
    memory: metrics.counter('kubelet_memory_manager_pinning_requests_total', '[ALPHA] Containers that asked for memory of their own'),
  };
  const errors = {
    cpu: metrics.counter('kubelet_cpu_manager_pinning_errors_total', '[ALPHA] Containers that could not be given CPUs of their own'),
    memory: metrics.counter(
      'kubelet_memory_manager_pinning_errors_total',
      '[ALPHA] Containers that could not be given memory of their own',
    ),
  };
  const resource = ['resource_name', 'source'];
  const allocations = metrics.counter('kubelet_resource_manager_allocations_total', '[ALPHA] Exclusive allocations', resource);
  const refusals = metrics.counter('kubelet_resource_manager_allocation_errors_total', '[ALPHA] Failed exclusive allocations', resource);
  const assignments = metrics.counter('kubelet_resource_manager_container_assignments_total', '[ALPHA] Containers by kind of assignment', [
    'resource_name',
    'assignment_type',
  ]);
  const shared = metrics.gauge(
    'kubelet_cpu_manager_shared_pool_size_millicores',
    '[ALPHA] CPUs that a container could still own, in thousandths',
  );
  const exclusive = metrics.gauge('kubelet_cpu_manager_exclusive_cpu_allocation_count', '[ALPHA] CPUs that containers own');
  const numa = metrics.gauge('kubelet_cpu_manager_allocation_per_numa', '[ALPHA] CPUs that containers own, by NUMA node', ['numa_node']);
  const admissions = metrics.counter(
    'kubelet_topology_manager_admission_requests_total',
    '[ALPHA] Pods that the topology manager looked at',
  );
  const rejections = metrics.counter('kubelet_topology_manager_admission_errors_total', '[ALPHA] Pods that the topology manager refused');
  const duration = metrics.histogram(
    'kubelet_topology_manager_admission_duration_ms',
    '[ALPHA] Time to place a pod, in milliseconds',
    [],
    exponentialBuckets(0.05, 2, 15),
  );
  const boundaries = ['scope', 'boundary'];
  const alignments = metrics.counter(
    'kubelet_container_aligned_compute_resources_count',
    '[ALPHA] Containers with aligned resources',
    boundaries,
  );
  const misses = metrics.counter(
    'kubelet_container_aligned_compute_resources_failure_count',
    '[ALPHA] Containers that could not be aligned',
    boundaries,
  );
  return {
    pinned(name, outcome) {
      requests[name].inc();
      if (outcome === 'new') {
        allocations.inc({ resource_name: name, source: 'node' });
        assignments.inc({ resource_name: name, assignment_type: 'node_exclusive' });
      }
      if (outcome !== 'failed') return;
      errors[name].inc();
      refusals.inc({ resource_name: name, source: 'node' });
    },
    cpus(sharedMillicores, count, perNuma) {
      shared.set(sharedMillicores);
      exclusive.set(count);
      for (const [node, cpus] of perNuma) numa.set(cpus, { numa_node: node });
    },
    admitted(milliseconds, failed) {
      admissions.inc();
      if (failed) rejections.inc();
      duration.observe(milliseconds);
    },
    aligned: (scope, boundary, failed) => (failed ? misses : alignments).inc({ scope, boundary }),
    prepare(scope, boundary, withFailures) {
      alignments.inc({ scope, boundary }, 0);
      if (withFailures) misses.inc({ scope, boundary }, 0);
    },
  };
}
