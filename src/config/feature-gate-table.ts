/** How far a feature is. GA and deprecated ones go away one day. */
export type GateStage = 'Alpha' | 'Beta' | 'GA' | 'Deprecated';

export interface GateSpec {
  stage: GateStage;
  default: boolean;
  /** It can only be set to its default. */
  locked: boolean;
}

/**
 * Every feature gate that a kubelet 1.37 accepts on the command line and in its configuration. Most belong to other
 * components: one list serves all, and a configuration that names one must not be refused.
 */
const table: readonly (readonly [stage: GateStage, on: boolean, locked: boolean, names: string])[] = [
  [
    'Alpha',
    false,
    false,
    `
    APIServerWebhookAuthenticationToken APIServingWithRoutine AtomicWriteVolumeUserFields CBORServingAndStorage
    CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
    CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook CompositePodGroup
    ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit
    CrossNamespaceVolumeDataSource DRADerivedAttributes DRADeviceCompatibilityGroups DRAListTypeAttributes DRANodeAllocatableResources
    DRAOptionalNodeOperations DRAPartitionableDevicesType DRAResourcePoolStatus DefaultPodSysctls EmptyDirVolumeMode EventedPLEG
    EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
    InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
    InterPodAffinityHostnameFastPath KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint LoggingAlphaOptions
    MutablePVNodeAffinity NodeLifecycleConditions PodGroupPreemptionPolicy PodLogsQuerySplitStreams QOSReserved
    ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SchedulerPreQueueingHints ShardedListAndWatch
    StatefulSetRecreateStrategy StorageVersionAPI TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
    TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions WindowsCPUAndMemoryAffinity
    WorkloadWithJob
    `,
  ],
  [
    'Beta',
    true,
    false,
    `
    APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowUnsafeMalformedObjectDeletion AtomicFIFO
    AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
    ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz
    ConcurrentWatchObjectDecode ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules ContextualLogging
    DRAConsumableCapacity DRADeviceBindingConditions DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization
    DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles
    EtcdRangeStream ExcludeAdmissionWebhookVirtualResources ExtendWebSocketsToKubelet GracefulNodeShutdown
    GracefulNodeShutdownBasedOnPodPriority HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero HugepageAwareEviction
    InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
    KubeletInUserNamespace KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
    LoggingBetaOptions ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS MutablePodResourcesForSuspendedJobs
    MutableSchedulingDirectivesForSuspendedJobs NFTablesNetlink NativeHistograms NodeControllerLeaseCircuitBreaker
    NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PersistentVolumeClaimUnusedSinceTime PodDeletionCost
    PodLevelResources PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission PodsAPI
    PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
    SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
    StaleControllerConsistencyHPA StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
    StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageVersionHash
    StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
    TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
    UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO VolumeLimitScaling WatchList
    WatchListClient WatchListCompression WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown
    `,
  ],
  [
    'Beta',
    false,
    false,
    `
    CoordinatedLeaderElection DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload
    LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI PodLevelResourceManagers SchedulerAsyncAPICalls
    `,
  ],
  [
    'GA',
    true,
    false,
    `
    AllowServiceExternalIPs ClusterTrustBundle ClusterTrustBundleProjection CustomCPUCFSQuotaPeriod DRADeviceTaintRules DRADeviceTaints
    InformerResourceVersion MutatingAdmissionPolicy PodCertificateRequest SELinuxMount StorageVersionMigrator
    `,
  ],
  [
    'GA',
    true,
    true,
    `
    CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets CustomResourceFieldSelectors DRAAdminAccess
    DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus DeclarativeValidation DisableAllocatorDualWrite
    DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner HPAConfigurableTolerance HostnameOverride
    ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers JobManagedBy
    KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
    KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount NFTablesProxyMode
    NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap PLEGOnDemandRelist PodObservedGenerationTracking
    PodReadyToStartContainersCondition PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
    RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation SELinuxChangePolicy
    SELinuxMountReadWriteOncePod SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SupplementalGroupsPolicy SystemdWatchdog
    TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook WinDSR WinOverlay
    `,
  ],
  [
    'Deprecated',
    true,
    false,
    `
    KubeProxyIPVS KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
    `,
  ],
  [
    'Deprecated',
    true,
    true,
    `
    AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
    `,
  ],
  [
    'Deprecated',
    false,
    false,
    `
    AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart KMSv1
    KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    `,
  ],
  [
    'Deprecated',
    false,
    true,
    `
    AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover GitRepoVolumeDriver SeparateCacheWatchRPC
    `,
  ],
];

export const gateSpecs: ReadonlyMap<string, GateSpec> = new Map(
  table.flatMap(([stage, on, locked, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name): [string, GateSpec] => [name, { stage, default: on, locked }]),
  ),
);

/** What a gate needs to be on. */
export const gateDependencies: ReadonlyMap<string, readonly string[]> = new Map([
  ['ClusterTrustBundleProjection', ['ClusterTrustBundle']],
  ['CompositePodGroup', ['GenericWorkload', 'TopologyAwareWorkloadScheduling']],
  ['DRAAdminAccess', ['DynamicResourceAllocation']],
  ['DRAConsumableCapacity', ['DynamicResourceAllocation']],
  ['DRADerivedAttributes', ['DynamicResourceAllocation']],
  ['DRADeviceBindingConditions', ['DynamicResourceAllocation', 'DRAResourceClaimDeviceStatus']],
  ['DRADeviceCompatibilityGroups', ['DynamicResourceAllocation', 'DRAPartitionableDevices']],
  ['DRADeviceTaintRules', ['DRADeviceTaints']],
  ['DRADeviceTaints', ['DynamicResourceAllocation']],
  ['DRAExtendedResource', ['DynamicResourceAllocation']],
  ['DRAFractionalCapacityRange', ['DRAConsumableCapacity']],
  ['DRAListTypeAttributes', ['DynamicResourceAllocation']],
  ['DRANodeAllocatableResources', ['DynamicResourceAllocation']],
  ['DRAOptionalNodeOperations', ['DynamicResourceAllocation', 'NodeDeclaredFeatures']],
  ['DRAPartitionableDevices', ['DynamicResourceAllocation']],
  ['DRAPartitionableDevicesType', ['DynamicResourceAllocation', 'DRAPartitionableDevices', 'DRAResourcePoolStatus']],
  ['DRAPrioritizedList', ['DynamicResourceAllocation']],
  ['DRAResourceClaimGranularStatusAuthorization', ['DynamicResourceAllocation', 'DRAResourceClaimDeviceStatus']],
  ['DRAResourcePoolStatus', ['DynamicResourceAllocation']],
  ['DRASchedulerFilterTimeout', ['DynamicResourceAllocation']],
  ['DRAWorkloadResourceClaims', ['DynamicResourceAllocation', 'GenericWorkload']],
  ['DeclarativeValidationTakeover', ['DeclarativeValidation']],
  ['DisableAllocatorDualWrite', ['MultiCIDRServiceAllocator']],
  ['EventedPLEG', ['PLEGOnDemandRelist']],
  ['ExtendWebSocketsToKubelet', ['NodeDeclaredFeatures']],
  ['GracefulNodeShutdownBasedOnPodPriority', ['GracefulNodeShutdown']],
  ['H2CContainerProbe', ['NodeDeclaredFeatures']],
  ['ImageVolumeWithDigest', ['ImageVolume']],
  ['InPlacePodLevelResourcesVerticalScaling', ['InPlacePodVerticalScaling', 'PodLevelResources', 'NodeDeclaredFeatures']],
  ['InPlacePodVerticalScalingExclusiveCPUs', ['InPlacePodVerticalScaling']],
  ['InPlacePodVerticalScalingExclusiveMemory', ['InPlacePodVerticalScaling']],
  ['InPlacePodVerticalScalingInitContainers', ['InPlacePodVerticalScaling', 'NodeDeclaredFeatures']],
  ['InPlacePodVerticalScalingMemoryBackedVolumes', ['InPlacePodVerticalScaling', 'NodeDeclaredFeatures']],
  ['InPlacePodVerticalScalingSchedulerPreemption', ['InPlacePodVerticalScaling']],
  ['KubeletAllocatedPodsEndpoint', ['InPlacePodVerticalScaling']],
  ['MatchLabelKeysInPodTopologySpreadSelectorMerge', ['MatchLabelKeysInPodTopologySpread']],
  ['NodeControllerLeaseCircuitBreaker', ['AtomicFIFO']],
  ['PodGroupPreemptionPolicy', ['GenericWorkload']],
  ['PodLevelResourceManagers', ['PodLevelResources']],
  ['PodLevelResourcesFixDefaulting', ['PodLevelResources']],
  ['PodLevelResourcesFixKubeletQOSClass', ['PodLevelResources']],
  ['ProcMountType', ['UserNamespacesSupport']],
  ['ResourceHealthStatus', ['DynamicResourceAllocation']],
  ['ResourceHealthStatusMessage', ['ResourceHealthStatus']],
  ['RestartAllContainersOnContainerExits', ['ContainerRestartRules', 'NodeDeclaredFeatures']],
  ['ServiceAccountTokenNodeBinding', ['ServiceAccountTokenNodeBindingValidation']],
  ['StaleControllerConsistencyDaemonSet', ['AtomicFIFO']],
  ['StaleControllerConsistencyHPA', ['AtomicFIFO']],
  ['StaleControllerConsistencyJob', ['AtomicFIFO']],
  ['StaleControllerConsistencyReplicaSet', ['AtomicFIFO']],
  ['StaleControllerConsistencyStatefulSet', ['AtomicFIFO']],
  ['StorageVersionAPI', ['APIServerIdentity']],
  ['TopologyAwareWorkloadScheduling', ['GenericWorkload']],
  ['UnknownVersionInteroperabilityProxy', ['APIServerIdentity']],
  ['UserNamespacesHostNetworkSupport', ['UserNamespacesSupport', 'NodeDeclaredFeatures']],
  ['WindowsGracefulNodeShutdown', ['GracefulNodeShutdown']],
  ['WorkloadWithJob', ['GenericWorkload']],
]);
