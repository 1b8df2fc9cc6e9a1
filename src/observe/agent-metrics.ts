import type { KubeletMetrics } from './kubelet-metrics.ts';
import { exponentialBuckets, type Metrics } from './metrics.ts';

/** Bounds of pod start times in seconds. Contract: metrics.md, key P. */
const podStartBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
/** Bounds of image pull times in seconds. Contract: metrics.md, key I. */
const imagePullBuckets = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
/** Bounds of storage operations in seconds. Contract: metrics.md §1b. */
const storageBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
const statusSyncBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

/** What the sources of pods and the sync loop know of pods, for the gauges. */
export interface PodCounts {
  desired: { normal: number; static: number };
  active: { normal: number; static: number };
  mirror: number;
}

/** The agent's own metrics beyond what KubeletMetrics asks for. Names and labels: contract metrics.md §1a. */
export interface AgentMetrics extends KubeletMetrics {
  /** kubelet_runtime_operations_total, _duration_seconds, _errors_total. */
  observe(operation: string, seconds: number, failed: boolean): void;
  /** kubelet_image_pull_duration_seconds; `sizeBucket` is the label value. */
  imagePulled(seconds: number, sizeBucket: string): void;
  /** kubelet_image_manager_ensure_image_requests_total; undefined is `unknown`. */
  ensured(policy: string, presentLocally: boolean | undefined, pullRequired: boolean | undefined): void;
  /** kubelet_imagemanager_image_mustpull_checks_total. */
  accessChecked(result: string): void;
  /** kubelet_imagemanager_ondisk_pullintents and _pulledrecords. */
  recorded(intents: number, records: number): void;
  /** kubelet_credential_provider_plugin_duration and _errors_total. */
  pluginRan(plugin: string, seconds: number, failed: boolean): void;
  /** kubelet_credential_provider_config_info. */
  configRead(hash: string): void;
  /** kubelet_image_garbage_collected_total. */
  imageCollected(reason: 'age' | 'space'): void;
  /** kubelet_pod_status_sync_duration_seconds. */
  statusSynced(seconds: number): void;
  /** kubelet_desired_pods, kubelet_active_pods, kubelet_mirror_pods. */
  pods(counts: PodCounts): void;
  /** kubelet_evictions, by the signal or the limit. */
  evicted(signal: string): void;
  /** kubelet_eviction_stats_age_seconds. */
  evictionStatsAge(signal: string, seconds: number): void;
  /** kts_system_oom_kills_total. */
  systemOom(): void;
  /** kts_container_oom_kills_total. */
  containerOom(of: { namespace: string; pod: string; container: string }): void;
  /** csi_operations_seconds: `method` as gRPC spells it, `code` its status. */
  csiCalled(driver: string, method: string, code: string, seconds: number): void;
  /** kubelet_lifecycle_handler_http_fallbacks_total. */
  hookFellBack(): void;
  /** kubelet_sleep_action_terminated_early_total. */
  sleepCut(): void;
  /** kubelet_node_name. */
  node(name: string): void;
}

const staticLabel = (isStatic: boolean): string => (isStatic ? 'true' : '');
const ratio = (flag: boolean | undefined): string => (flag === undefined ? 'unknown' : String(flag));

/** Runtime states of containers and the label values that they count under. */
const containerStates = ['created', 'running', 'exited', 'unknown'];

function countContainers(metrics: Metrics, records: Parameters<KubeletMetrics['listed']>[0]): void {
  const pods = metrics.gauge('kubelet_running_pods', '[ALPHA] Pods that have a running sandbox');
  const containers = metrics.gauge('kubelet_running_containers', '[ALPHA] Containers by state', ['container_state']);
  const counts = new Map(containerStates.map((state) => [state, 0]));
  let running = 0;
  for (const record of records.values()) {
    if ([...record.sandboxes.values()].some((state) => state === 'running' || state === 'ready')) running += 1;
    for (const state of record.containers.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  pods.set(running);
  for (const state of containerStates) containers.set(counts.get(state) ?? 0, { container_state: state });
}

/**
 * The agent's metrics on a registry. A metric comes to be when it is first used. `monotonicSeconds` is for timing,
 * `wallSeconds` for kubelet_pleg_last_seen_seconds.
 */
export function createAgentMetrics(metrics: Metrics, monotonicSeconds: () => number, wallSeconds: () => number): AgentMetrics {
  const runtimeBuckets = exponentialBuckets(0.005, 2.5, 14);
  return {
    async timed(operation, work) {
      const start = monotonicSeconds();
      const histogram = metrics.histogram('kubelet_pod_worker_duration_seconds', '[ALPHA] Duration of a sync of one pod', [
        'operation_type',
      ]);
      try {
        return await work();
      } finally {
        histogram.observe(monotonicSeconds() - start, { operation_type: operation });
      }
    },
    relisted(duration, sinceLast) {
      metrics.histogram('kubelet_pleg_relist_duration_seconds', '[ALPHA] Duration of a relist').observe(duration);
      if (sinceLast !== undefined)
        metrics.histogram('kubelet_pleg_relist_interval_seconds', '[ALPHA] Time between two relists').observe(sinceLast);
      metrics.gauge('kubelet_pleg_last_seen_seconds', '[ALPHA] Time of the last relist').set(wallSeconds());
    },
    listed: (records) => countContainers(metrics, records),
    sandboxStarted(runtimeHandler, duration, failed) {
      const labels = { runtime_handler: runtimeHandler };
      metrics
        .histogram('kubelet_run_podsandbox_duration_seconds', '[ALPHA] Duration of RunPodSandbox', ['runtime_handler'])
        .observe(duration, labels);
      metrics.counter('kubelet_started_pods_total', '[ALPHA] Pod starts, tried').inc();
      if (!failed) return;
      metrics.counter('kubelet_run_podsandbox_errors_total', '[ALPHA] Failed RunPodSandbox', ['runtime_handler']).inc(labels);
      metrics.counter('kubelet_started_pods_errors_total', '[ALPHA] Pod starts that failed').inc();
    },
    containerStarted(kind, errorCode) {
      metrics
        .counter('kubelet_started_containers_total', '[ALPHA] Container starts, tried', ['container_type'])
        .inc({ container_type: kind });
      if (errorCode === undefined) return;
      const errors = metrics.counter('kubelet_started_containers_errors_total', '[ALPHA] Container starts that failed', [
        'container_type',
        'code',
      ]);
      errors.inc({ container_type: kind, code: errorCode });
    },
    userNamespacedPodStarted(failed) {
      metrics.counter('kubelet_started_user_namespaced_pods_total', '[ALPHA] Starts of pods of their own user namespace, tried').inc();
      const errors = metrics.counter('kubelet_started_user_namespaced_pods_errors_total', '[ALPHA] Those starts that failed');
      if (failed) errors.inc();
    },
    imageVolumesMounted(requested, failed) {
      if (requested === 0) return;
      metrics.counter('kubelet_image_volume_requested_total', '[BETA] Image volumes asked for').inc({}, requested);
      const outcome = failed
        ? metrics.counter('kubelet_image_volume_mounted_errors_total', '[BETA] Image volumes that could not be mounted')
        : metrics.counter('kubelet_image_volume_mounted_succeed_total', '[BETA] Image volumes mounted');
      outcome.inc({}, requested);
    },
    containerTerminated(kind, exitCode, reason) {
      const labels = ['container_type', 'exit_code', 'reason'];
      const counter = metrics.counter('kubelet_terminated_containers_total', '[ALPHA] Containers that ended', labels);
      counter.inc({ container_type: kind, exit_code: exitCode, reason });
    },
    rejected: (reason) =>
      metrics.counter('kubelet_admission_rejections_total', '[ALPHA] Pods that the node refused', ['reason']).inc({ reason }),
    preempted: (resource) =>
      metrics
        .counter('kubelet_preemptions', '[ALPHA] Pods stopped for a critical one, by the resource that was missing', ['preemption_signal'])
        .inc({ preemption_signal: resource }),
    observe(operation, duration, failed) {
      const labels = { operation_type: operation };
      metrics.counter('kubelet_runtime_operations_total', '[ALPHA] Runtime calls', ['operation_type']).inc(labels);
      const histogram = metrics.histogram(
        'kubelet_runtime_operations_duration_seconds',
        '[ALPHA] Duration of runtime calls',
        ['operation_type'],
        runtimeBuckets,
      );
      histogram.observe(duration, labels);
      if (failed)
        metrics.counter('kubelet_runtime_operations_errors_total', '[ALPHA] Runtime calls that failed', ['operation_type']).inc(labels);
    },
    imagePulled(duration, sizeBucket) {
      const name = 'kubelet_image_pull_duration_seconds';
      metrics
        .histogram(name, '[ALPHA] Duration of image pulls', ['image_size_in_bytes'], imagePullBuckets)
        .observe(duration, { image_size_in_bytes: sizeBucket });
    },
    ensured(policy, presentLocally, pullRequired) {
      const labels = ['pull_policy', 'present_locally', 'pull_required'];
      const counter = metrics.counter(
        'kubelet_image_manager_ensure_image_requests_total',
        '[ALPHA] Images that containers asked for',
        labels,
      );
      counter.inc({ pull_policy: policy.toLowerCase(), present_locally: ratio(presentLocally), pull_required: ratio(pullRequired) });
    },
    accessChecked: (result) =>
      metrics
        .counter(
          'kubelet_imagemanager_image_mustpull_checks_total',
          '[ALPHA] Present images for which it was checked whether a pod may use them',
          ['result'],
        )
        .inc({ result }),
    recorded(intents, records) {
      metrics.gauge('kubelet_imagemanager_ondisk_pullintents', '[ALPHA] Image pulls under way or left over, on disk').set(intents);
      metrics.gauge('kubelet_imagemanager_ondisk_pulledrecords', '[ALPHA] Records of pulled images on disk').set(records);
    },
    pluginRan(plugin, duration, failed) {
      const labels = { plugin_name: plugin };
      metrics
        .histogram('kubelet_credential_provider_plugin_duration', '[ALPHA] Seconds that runs of credential provider plug-ins took', [
          'plugin_name',
        ])
        .observe(duration, labels);
      if (failed)
        metrics
          .counter('kubelet_credential_provider_plugin_errors_total', '[ALPHA] Runs of credential provider plug-ins that failed', [
            'plugin_name',
          ])
          .inc(labels);
    },
    configRead: (hash) =>
      metrics
        .gauge('kubelet_credential_provider_config_info', '[ALPHA] The configuration of credential providers, by its hash', ['hash'])
        .set(1, { hash }),
    imageCollected: (reason) =>
      metrics.counter('kubelet_image_garbage_collected_total', '[ALPHA] Images that were removed', ['reason']).inc({ reason }),
    podStarted: (s) =>
      metrics
        .histogram('kubelet_pod_start_duration_seconds', '[ALPHA] From the first sight of a pod to its start', [], podStartBuckets)
        .observe(s),
    podReady(sli, total) {
      metrics
        .histogram(
          'kubelet_pod_start_sli_duration_seconds',
          '[ALPHA] Pod start without image pulls and init containers',
          [],
          podStartBuckets,
        )
        .observe(sli);
      metrics
        .histogram('kubelet_pod_start_total_duration_seconds', '[ALPHA] Pod start with everything', [], podStartBuckets)
        .observe(total);
    },
    workerStarted: (s) =>
      metrics
        .histogram('kubelet_pod_worker_start_duration_seconds', '[ALPHA] From the first sight of a pod to the start of its worker')
        .observe(s),
    statusSynced: (s) =>
      metrics.histogram('kubelet_pod_status_sync_duration_seconds', '[ALPHA] Duration of a status write', [], statusSyncBuckets).observe(s),
    podAdmitted: (n) =>
      metrics.histogram('kubelet_containers_per_pod_count', '[ALPHA] Containers of a pod', [], exponentialBuckets(1, 2, 5)).observe(n),
    pods(counts) {
      for (const [name, value] of [
        ['kubelet_desired_pods', counts.desired],
        ['kubelet_active_pods', counts.active],
      ] as const) {
        const gauge = metrics.gauge(name, '[ALPHA] Pods that the node should have or works on', ['static']);
        gauge.set(value.normal, { static: staticLabel(false) });
        gauge.set(value.static, { static: staticLabel(true) });
      }
      metrics.gauge('kubelet_mirror_pods', '[ALPHA] Mirror pods').set(counts.mirror);
    },
    podRestarted: (isStatic) =>
      metrics
        .counter('kubelet_restarted_pods_total', '[ALPHA] Pods made anew under their name', ['static'])
        .inc({ static: staticLabel(isStatic) }),
    evicted: (signal) =>
      metrics
        .counter('kubelet_evictions', '[ALPHA] Pods that were evicted, by the signal', ['eviction_signal'])
        .inc({ eviction_signal: signal }),
    evictionStatsAge: (signal, seconds) =>
      metrics
        .histogram('kubelet_eviction_stats_age_seconds', '[ALPHA] Age of the figures by which a pod was evicted', ['eviction_signal'])
        .observe(seconds, { eviction_signal: signal }),
    systemOom: () => metrics.counter('kts_system_oom_kills_total', '[ALPHA] Processes killed because the machine had no memory left').inc(),
    containerOom: ({ namespace, pod, container }) =>
      metrics
        .counter('kts_container_oom_kills_total', '[ALPHA] Processes of a container that were killed for want of memory', [
          'namespace',
          'pod',
          'container',
        ])
        .inc({ namespace, pod, container }),
    orphanFound: () => metrics.counter('kubelet_orphaned_runtime_pods_total', '[ALPHA] Pods in the runtime that nobody asked for').inc(),
    csiCalled(driver, method, code, duration) {
      const labels = { driver_name: driver, method_name: method, grpc_status_code: code, migrated: 'false' };
      metrics
        .histogram('csi_operations_seconds', '[ALPHA] Duration of calls to CSI drivers', Object.keys(labels), storageBuckets)
        .observe(duration, labels);
    },
    hookFellBack: () =>
      metrics.counter('kubelet_lifecycle_handler_http_fallbacks_total', '[ALPHA] Hooks over HTTPS that fell back to HTTP').inc(),
    sleepCut: () => metrics.counter('kubelet_sleep_action_terminated_early_total', '[ALPHA] Sleep hooks that were cut short').inc(),
    node: (name) => metrics.gauge('kubelet_node_name', '[ALPHA] Name of the node', ['node']).set(1, { node: name }),
  };
}
