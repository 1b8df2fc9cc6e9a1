declare const goDuration: unique symbol;

/** A duration as Go writes it, for instance `1m30s`. Canonical after decoding. */
export type GoDuration = string & { readonly [goDuration]: true };

/** Seconds-based resource amounts are Kubernetes quantities as text, for instance `200Mi`. */
export type QuantityText = string;

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  /** RFC 3339; refused at start-up. */
  timeAdded?: string;
}

export interface MemoryReservation {
  numaNode: number;
  limits: Record<string, QuantityText>;
}

export interface ShutdownGracePeriodByPodPriority {
  priority: number;
  shutdownGracePeriodSeconds: number;
}

export interface OutputRoutingOptions {
  splitStream?: boolean;
  infoBufferSize: QuantityText;
}

/**
 * KubeletConfiguration kubelet.config.k8s.io/v1beta1 in its JSON form, as the real kubelet would write it back: after
 * defaulting, a field that is absent has Go's zero value. Contract: flags-config.md §3.
 */
export interface KubeletConfiguration {
  apiVersion: 'kubelet.config.k8s.io/v1beta1';
  kind: 'KubeletConfiguration';
  enableServer: boolean;
  staticPodPath?: string;
  podLogsDir?: string;
  syncFrequency: GoDuration;
  fileCheckFrequency: GoDuration;
  httpCheckFrequency: GoDuration;
  staticPodURL?: string;
  staticPodURLHeader?: Record<string, string[]>;
  address?: string;
  port?: number;
  readOnlyPort?: number;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  tlsCipherSuites?: string[];
  tlsCurvePreferences?: number[];
  tlsMinVersion?: string;
  rotateCertificates?: boolean;
  serverTLSBootstrap?: boolean;
  authentication: {
    x509: { clientCAFile?: string };
    webhook: { enabled: boolean; cacheTTL: GoDuration };
    anonymous: { enabled: boolean };
  };
  authorization: {
    mode?: string;
    webhook: { cacheAuthorizedTTL: GoDuration; cacheUnauthorizedTTL: GoDuration };
  };
  registryPullQPS: number;
  registryBurst?: number;
  imagePullCredentialsVerificationPolicy?: string;
  preloadedImagesVerificationAllowlist?: string[];
  eventRecordQPS: number;
  eventBurst?: number;
  enableDebuggingHandlers: boolean;
  enableContentionProfiling?: boolean;
  healthzPort: number;
  healthzBindAddress?: string;
  oomScoreAdj: number;
  clusterDomain?: string;
  clusterDNS?: string[];
  streamingConnectionIdleTimeout: GoDuration;
  nodeStatusUpdateFrequency: GoDuration;
  nodeStatusReportFrequency: GoDuration;
  nodeLeaseDurationSeconds?: number;
  imageMinimumGCAge: GoDuration;
  imageMaximumGCAge: GoDuration;
  imageGCHighThresholdPercent: number;
  imageGCLowThresholdPercent: number;
  volumeStatsAggPeriod: GoDuration;
  kubeletCgroups?: string;
  systemCgroups?: string;
  cgroupRoot?: string;
  cgroupsPerQOS: boolean;
  cgroupDriver?: string;
  cpuManagerPolicy?: string;
  singleProcessOOMKill?: boolean;
  cpuManagerPolicyOptions?: Record<string, string>;
  cpuManagerReconcilePeriod: GoDuration;
  memoryManagerPolicy?: string;
  topologyManagerPolicy?: string;
  topologyManagerScope?: string;
  topologyManagerPolicyOptions?: Record<string, string>;
  qosReserved?: Record<string, string>;
  runtimeRequestTimeout: GoDuration;
  hairpinMode?: string;
  maxPods?: number;
  podCIDR?: string;
  podPidsLimit: number;
  resolvConf: string;
  runOnce?: boolean;
  cpuCFSQuota: boolean;
  cpuCFSQuotaPeriod: GoDuration;
  nodeStatusMaxImages: number;
  maxOpenFiles?: number;
  contentType?: string;
  kubeAPIQPS: number;
  kubeAPIBurst?: number;
  serializeImagePulls: boolean;
  maxParallelImagePulls?: number;
  evictionHard?: Record<string, string>;
  evictionSoft?: Record<string, string>;
  evictionSoftGracePeriod?: Record<string, string>;
  evictionPressureTransitionPeriod: GoDuration;
  evictionMaxPodGracePeriod?: number;
  evictionMinimumReclaim?: Record<string, string>;
  mergeDefaultEvictionSettings: boolean;
  podsPerCore?: number;
  enableControllerAttachDetach: boolean;
  protectKernelDefaults?: boolean;
  makeIPTablesUtilChains: boolean;
  iptablesMasqueradeBit: number;
  iptablesDropBit: number;
  featureGates?: Record<string, boolean>;
  failSwapOn: boolean;
  memorySwap: { swapBehavior?: string };
  containerLogMaxSize?: QuantityText;
  containerLogMaxFiles: number;
  containerLogMaxWorkers: number;
  containerLogMonitorInterval: GoDuration;
  configMapAndSecretChangeDetectionStrategy?: string;
  systemReserved?: Record<string, QuantityText>;
  kubeReserved?: Record<string, QuantityText>;
  reservedSystemCPUs?: string;
  showHiddenMetricsForVersion?: string;
  systemReservedCgroup?: string;
  kubeReservedCgroup?: string;
  enforceNodeAllocatable?: string[];
  allowedUnsafeSysctls?: string[];
  defaultPodSysctls?: Record<string, string>;
  volumePluginDir?: string;
  providerID?: string;
  kernelMemcgNotification?: boolean;
  logging: {
    format?: string;
    /** Text, or nanoseconds as a number where the file has a number. */
    flushFrequency: GoDuration | number;
    verbosity: number;
    vmodule?: { filePattern: string; verbosity: number }[];
    options: { text: OutputRoutingOptions; json: OutputRoutingOptions };
  };
  enableSystemLogHandler: boolean;
  enableSystemLogQuery: boolean;
  shutdownGracePeriod: GoDuration;
  shutdownGracePeriodCriticalPods: GoDuration;
  shutdownGracePeriodByPodPriority?: ShutdownGracePeriodByPodPriority[];
  crashLoopBackOff: { maxContainerRestartPeriod?: GoDuration };
  reservedMemory?: MemoryReservation[];
  enableProfilingHandler: boolean;
  enableDebugFlagsHandler: boolean;
  seccompDefault: boolean;
  memoryThrottlingFactor?: number;
  memoryReservationPolicy?: string;
  registerWithTaints?: Taint[];
  registerNode: boolean;
  tracing?: { endpoint?: string; samplingRatePerMillion?: number };
  localStorageCapacityIsolation: boolean;
  containerRuntimeEndpoint: string;
  imageServiceEndpoint?: string;
  failCgroupV1: boolean;
  userNamespaces?: { idsPerPod?: number };
}

/** What is set on the command line only. Contract: flags-config.md §4. */
export interface KubeletFlags {
  config: string;
  configDir: string;
  kubeconfig: string;
  bootstrapKubeconfig: string;
  hostnameOverride: string;
  /** One address, or an IPv4 and an IPv6 one; empty for none. */
  nodeIP: string;
  certDir: string;
  cloudProvider: string;
  rootDir: string;
  seccompDefault: boolean;
  nodeLabels: Record<string, string>;
  runtimeCgroups: string;
  imageCredentialProviderConfig: string;
  imageCredentialProviderBinDir: string;
  lockFile: string;
  exitOnLockContention: boolean;
  housekeepingIntervalMs: number;
  minimumContainerTTLDurationMs: number;
  maximumDeadContainersPerContainer: number;
  maximumDeadContainers: number;
  experimentalMounterPath: string;
  experimentalAllocatableIgnoreEviction: boolean;
}
