/** What the agent counts of its own work. Names and labels: contract metrics.md §1a. */
export interface KubeletMetrics {
  /** kubelet_pod_worker_duration_seconds by phase. */
  timed<T>(operation: string, work: () => Promise<T>): Promise<T>;
  /** kubelet_pleg_relist_duration_seconds, _interval_seconds. */
  relisted(seconds: number, sinceLastSeconds: number | undefined): void;
  /** kubelet_running_pods, kubelet_running_containers. */
  listed(records: ReadonlyMap<string, { containers: ReadonlyMap<string, string>; sandboxes: ReadonlyMap<string, string> }>): void;
  /** kubelet_run_podsandbox_duration_seconds, _errors_total, kubelet_started_pods_total, _errors_total. */
  sandboxStarted(runtimeHandler: string, seconds: number, failed: boolean): void;
  /** kubelet_started_containers_total, _errors_total. */
  containerStarted(kind: string, errorCode: string | undefined): void;
  /** kubelet_pod_worker_start_duration_seconds: from the first sight of a pod to the start of its lane. */
  workerStarted(seconds: number): void;
  /** kubelet_pod_start_duration_seconds: from the first sight of a pod until it is Running. */
  podStarted(seconds: number): void;
  /** kubelet_pod_start_sli_duration_seconds (pulls and init left out) and kubelet_pod_start_total_duration_seconds. */
  podReady(sliSeconds: number, totalSeconds: number): void;
  /** kubelet_started_user_namespaced_pods_total, _errors_total. */
  userNamespacedPodStarted(failed: boolean): void;
  /** kubelet_image_volume_requested_total, _mounted_succeed_total, _mounted_errors_total. */
  imageVolumesMounted(requested: number, failed: boolean): void;
  /** kubelet_containers_per_pod_count. */
  podAdmitted(containers: number): void;
  /** kubelet_restarted_pods_total: a pod of the same UID that began anew after it was taken away. */
  podRestarted(isStatic: boolean): void;
  /** kubelet_orphaned_runtime_pods_total. */
  orphanFound(): void;
  /** kubelet_pod_status_sync_duration_seconds. */
  statusSynced(seconds: number): void;
  /** kubelet_terminated_containers_total. */
  containerTerminated(kind: string, exitCode: number, reason: string): void;
  /** kubelet_admission_rejections_total. */
  rejected(reason: string): void;
  /** kubelet_preemptions, by the first resource that was missing. */
  preempted(resource: string): void;
}

/** Counts nothing: for tests and the simulated world. */
export const noKubeletMetrics: KubeletMetrics = {
  timed: (_operation, work) => work(),
  relisted() {},
  listed() {},
  sandboxStarted() {},
  containerStarted() {},
  userNamespacedPodStarted() {},
  imageVolumesMounted() {},
  containerTerminated() {},
  statusSynced() {},
  workerStarted() {},
  podStarted() {},
  podReady() {},
  podAdmitted() {},
  podRestarted() {},
  orphanFound() {},
  rejected() {},
  preempted() {},
};
