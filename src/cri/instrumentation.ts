import type { Clock } from '../host/clock.ts';

/** Where finished runtime calls are counted: kubelet_runtime_operations_total, _duration_seconds, _errors_total. */
export interface RuntimeMetrics {
  observe(operation: string, seconds: number, failed: boolean): void;
}

export const noRuntimeMetrics: RuntimeMetrics = { observe() {} };

/** A runtime call that has not returned yet. */
export interface PendingCall {
  /** The RPC, e.g. `RunPodSandbox`. */
  operation: string;
  /** What it is about: `namespace/name` of a pod, a container or sandbox id, an image; empty for the whole node. */
  object: string;
  /** Clock.monotonic() at the start. */
  sinceMonotonicMs: number;
}

/** Times every call, and knows which ones are under way (the health report names those that hang). */
export class Instrumentation {
  readonly #clock: Clock;
  readonly #metrics: RuntimeMetrics;
  readonly #pending = new Set<PendingCall>();

  constructor(clock: Clock, metrics: RuntimeMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Calls `done` exactly once when the call has ended. `tracked` is false for streams that last for ever. */
  begin(operation: string, metric: string, object: string, tracked = true): (failed: boolean) => void {
    const call: PendingCall = { operation, object, sinceMonotonicMs: this.#clock.monotonic() };
    if (tracked) this.#pending.add(call);
    return (failed) => {
      this.#pending.delete(call);
      this.#metrics.observe(metric, (this.#clock.monotonic() - call.sinceMonotonicMs) / 1000, failed);
    };
  }

  /** Oldest first. */
  pendingCalls(): PendingCall[] {
    return [...this.#pending];
  }
}

/** The metric label of each RPC (contract: metrics.md, runtime_operations operation_type). */
export const operationTypes = {
  Version: 'version',
  Status: 'status',
  RuntimeConfig: 'runtime_config',
  UpdateRuntimeConfig: 'update_runtime_config',
  RunPodSandbox: 'run_podsandbox',
  StopPodSandbox: 'stop_podsandbox',
  RemovePodSandbox: 'remove_podsandbox',
  PodSandboxStatus: 'podsandbox_status',
  ListPodSandbox: 'list_podsandbox',
  StreamPodSandboxes: 'list_podsandbox',
  UpdatePodSandboxResources: 'update_podsandbox_resources',
  CreateContainer: 'create_container',
  StartContainer: 'start_container',
  StopContainer: 'stop_container',
  RemoveContainer: 'remove_container',
  ListContainers: 'list_containers',
  StreamContainers: 'list_containers',
  ContainerStatus: 'container_status',
  UpdateContainerResources: 'update_container',
  ReopenContainerLog: 'reopen_container_log',
  ExecSync: 'exec_sync',
  Exec: 'exec',
  Attach: 'attach',
  PortForward: 'port_forward',
  ContainerStats: 'container_stats',
  ListContainerStats: 'list_container_stats',
  StreamContainerStats: 'list_container_stats',
  PodSandboxStats: 'podsandbox_stats',
  ListPodSandboxStats: 'list_podsandbox_stats',
  StreamPodSandboxStats: 'list_podsandbox_stats',
  ListMetricDescriptors: 'list_metric_descriptors',
  ListPodSandboxMetrics: 'list_podsandbox_metrics',
  StreamPodSandboxMetrics: 'list_podsandbox_metrics',
  GetContainerEvents: 'get_container_events',
  CheckpointContainer: 'checkpoint_container',
  CheckpointPod: 'checkpoint_pod',
  RestorePod: 'restore_pod',
  ListImages: 'list_images',
  StreamImages: 'list_images',
  ImageStatus: 'image_status',
  PullImage: 'pull_image',
  RemoveImage: 'remove_image',
  ImageFsInfo: 'image_fs_info',
} as const;

export type RpcName = keyof typeof operationTypes;
