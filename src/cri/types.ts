/**
 * CRI v1 as the agent sees it: the public messages with camelCase names. Times are nanoseconds since the epoch as
 * bigint; byte sizes and counts are numbers; enums are string unions. Source: contract/compat-matrix.md.
 */

/** Options of one call. `timeoutMs` overrides the contract's deadline of that RPC; 0 means none. */
export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface RuntimeVersion {
  version: string;
  runtimeName: string;
  runtimeVersion: string;
  runtimeApiVersion: string;
}

export interface RuntimeCondition {
  type: string;
  status: boolean;
  reason: string;
  message: string;
}

export interface RuntimeHandler {
  name: string;
  features?: { recursiveReadOnlyMounts: boolean; userNamespaces: boolean };
}

export interface RuntimeStatus {
  conditions: RuntimeCondition[];
  runtimeHandlers: RuntimeHandler[];
  features?: { supplementalGroupsPolicy: boolean; userNamespacesHostNetwork?: boolean; mountOptions?: boolean };
  /** Runtime-private details, only with `verbose`. */
  info?: Record<string, string>;
}

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

export interface IdMapping {
  hostId: number;
  containerId: number;
  length: number;
}

export interface UserNamespace {
  mode: NamespaceMode;
  uids: IdMapping[];
  gids: IdMapping[];
}

export interface NamespaceOption {
  network: NamespaceMode;
  pid: NamespaceMode;
  ipc: NamespaceMode;
  targetId?: string;
  usernsOptions?: UserNamespace;
}

export interface SELinuxOption {
  user: string;
  role: string;
  type: string;
  level: string;
}

export type SecurityProfileType = 'RuntimeDefault' | 'Unconfined' | 'Localhost';

export interface SecurityProfile {
  profileType: SecurityProfileType;
  localhostRef?: string;
}

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';

export interface LinuxContainerResources {
  cpuPeriod?: number;
  cpuQuota?: number;
  cpuShares?: number;
  memoryLimitInBytes?: number;
  oomScoreAdj?: number;
  cpusetCpus?: string;
  cpusetMems?: string;
  hugepageLimits?: { pageSize: string; limit: number }[];
  unified?: Record<string, string>;
  memorySwapLimitInBytes?: number;
}

export interface PodSandboxMetadata {
  name: string;
  uid: string;
  namespace: string;
  attempt: number;
}

export interface PortMapping {
  protocol: 'TCP' | 'UDP' | 'SCTP';
  containerPort: number;
  hostPort: number;
  hostIp: string;
}

export interface DNSConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

export interface LinuxSandboxSecurityContext {
  namespaceOptions?: NamespaceOption;
  selinuxOptions?: SELinuxOption;
  runAsUser?: number;
  runAsGroup?: number;
  readonlyRootfs?: boolean;
  supplementalGroups?: number[];
  supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  privileged?: boolean;
  seccomp?: SecurityProfile;
  apparmor?: SecurityProfile;
}

export interface PodSandboxConfig {
  metadata: PodSandboxMetadata;
  hostname?: string;
  logDirectory?: string;
  dnsConfig?: DNSConfig;
  portMappings: PortMapping[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  linux?: {
    cgroupParent?: string;
    securityContext?: LinuxSandboxSecurityContext;
    sysctls?: Record<string, string>;
    overhead?: LinuxContainerResources;
    resources?: LinuxContainerResources;
  };
}

export type PodSandboxState = 'ready' | 'notready';

export interface PodSandbox {
  id: string;
  metadata: PodSandboxMetadata;
  state: PodSandboxState;
  createdAt: bigint;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}

export interface PodSandboxStatus {
  id: string;
  metadata: PodSandboxMetadata;
  state: PodSandboxState;
  createdAt: bigint;
  /** Undefined when the runtime sent no network block at all (contract: compat-matrix §4). */
  network?: { ip: string; additionalIps: string[] };
  /** Undefined when the runtime sent no namespaces. */
  namespaceOptions?: NamespaceOption;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}

export interface PodSandboxFilter {
  id?: string;
  state?: PodSandboxState;
  labelSelector?: Record<string, string>;
}

export interface ImageSpec {
  image: string;
  annotations?: Record<string, string>;
  userSpecifiedImage?: string;
  runtimeHandler?: string;
  imageRef?: string;
}

export type MountPropagation = 'PRIVATE' | 'HOST_TO_CONTAINER' | 'BIDIRECTIONAL';

export interface Mount {
  containerPath: string;
  hostPath: string;
  readonly?: boolean;
  selinuxRelabel?: boolean;
  propagation?: MountPropagation;
  uidMappings?: IdMapping[];
  gidMappings?: IdMapping[];
  recursiveReadOnly?: boolean;
  image?: ImageSpec;
  imageSubPath?: string;
  mountOptions?: string[];
}

export interface Device {
  containerPath: string;
  hostPath: string;
  permissions: string;
}

export interface LinuxContainerSecurityContext {
  capabilities?: { addCapabilities: string[]; dropCapabilities: string[]; addAmbientCapabilities?: string[] };
  privileged?: boolean;
  namespaceOptions?: NamespaceOption;
  selinuxOptions?: SELinuxOption;
  runAsUser?: number;
  runAsGroup?: number;
  runAsUsername?: string;
  readonlyRootfs?: boolean;
  supplementalGroups?: number[];
  supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  noNewPrivs?: boolean;
  maskedPaths?: string[];
  readonlyPaths?: string[];
  seccomp?: SecurityProfile;
  apparmor?: SecurityProfile;
  apparmorProfile?: string;
}

export interface ContainerMetadata {
  name: string;
  attempt: number;
}

export interface ContainerConfig {
  metadata: ContainerMetadata;
  image: ImageSpec;
  command: string[];
  args: string[];
  workingDir?: string;
  envs: { key: string; value: string }[];
  mounts: Mount[];
  devices: Device[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  logPath?: string;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
  linux?: { resources?: LinuxContainerResources; securityContext?: LinuxContainerSecurityContext };
  cdiDevices?: { name: string }[];
  /** A signal name such as `SIGUSR1`. */
  stopSignal?: string;
}

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface Container {
  id: string;
  podSandboxId: string;
  metadata: ContainerMetadata;
  image: ImageSpec;
  imageRef: string;
  imageId: string;
  state: ContainerState;
  createdAt: bigint;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export interface ContainerUser {
  uid: number;
  gid: number;
  supplementalGroups: number[];
}

export interface ContainerStatus {
  id: string;
  metadata: ContainerMetadata;
  state: ContainerState;
  createdAt: bigint;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  image: ImageSpec;
  imageRef: string;
  imageId: string;
  reason: string;
  message: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  mounts: Mount[];
  logPath: string;
  resources?: LinuxContainerResources;
  user?: ContainerUser;
  stopSignal?: string;
}

export interface ContainerFilter {
  id?: string;
  state?: ContainerState;
  podSandboxId?: string;
  labelSelector?: Record<string, string>;
}

export interface ExecSyncResult {
  stdout: Buffer;
  stderr: Buffer;
  exitCode: number;
}

export type ContainerEventType = 'CREATED' | 'STARTED' | 'STOPPED' | 'DELETED';

export interface ContainerEvent {
  containerId: string;
  type: ContainerEventType;
  createdAt: bigint;
  /** The pod's uid as in the sandbox metadata; empty when the runtime sent none. */
  podUid: string;
}

export interface Image {
  id: string;
  repoTags: string[];
  repoDigests: string[];
  /** Bytes. */
  size: number;
  uid?: number;
  username: string;
  spec?: ImageSpec;
  pinned: boolean;
}

export interface AuthConfig {
  username: string;
  password: string;
  auth: string;
  serverAddress: string;
  identityToken: string;
  registryToken: string;
}

export interface FilesystemUsage {
  timestamp: bigint;
  mountpoint: string;
  usedBytes: number;
  inodesUsed: number;
}

export interface ImageFsInfo {
  imageFilesystems: FilesystemUsage[];
  containerFilesystems: FilesystemUsage[];
}

export interface ExecRequest {
  containerId: string;
  cmd: string[];
  tty: boolean;
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
}

export interface AttachRequest {
  containerId: string;
  tty: boolean;
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
}

/** Share of time stalled in percent over 10, 60 and 300 s; total in microseconds. */
export interface PsiData {
  total: number;
  avg10: number;
  avg60: number;
  avg300: number;
}
export interface PsiStats {
  full?: PsiData;
  some?: PsiData;
}

/** In all statistics an undefined value was not measured, which is not zero. */
export interface CpuUsage {
  timestamp: bigint;
  /** Nanoseconds of one core since the start. */
  usageCoreNanoSeconds?: bigint;
  usageNanoCores?: number;
  psi?: PsiStats;
}

/** Bytes and counts. */
export interface MemoryUsage {
  timestamp: bigint;
  workingSetBytes?: number;
  availableBytes?: number;
  usageBytes?: number;
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
  psi?: PsiStats;
}

export interface SwapUsage {
  timestamp: bigint;
  swapAvailableBytes?: number;
  swapUsageBytes?: number;
}

export interface IoUsage {
  timestamp: bigint;
  psi?: PsiStats;
}

export interface NetworkInterfaceUsage {
  name: string;
  rxBytes?: number;
  rxErrors?: number;
  txBytes?: number;
  txErrors?: number;
}

export interface NetworkUsage {
  timestamp: bigint;
  defaultInterface?: NetworkInterfaceUsage;
  interfaces: NetworkInterfaceUsage[];
}

export interface ContainerStats {
  id: string;
  metadata: ContainerMetadata;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  cpu?: CpuUsage;
  memory?: MemoryUsage;
  writableLayer?: FilesystemUsage;
  swap?: SwapUsage;
  io?: IoUsage;
}

export interface ContainerStatsFilter {
  id?: string;
  podSandboxId?: string;
  labelSelector?: Record<string, string>;
}

export interface PodSandboxStats {
  id: string;
  metadata: PodSandboxMetadata;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  cpu?: CpuUsage;
  memory?: MemoryUsage;
  network?: NetworkUsage;
  process?: { timestamp: bigint; processCount?: number };
  io?: IoUsage;
  containers: ContainerStats[];
}

export interface PodSandboxStatsFilter {
  id?: string;
  labelSelector?: Record<string, string>;
}

export interface MetricDescriptor {
  name: string;
  help: string;
  labelKeys: string[];
}

/** `labelValues` stand in the order of the descriptor's `labelKeys`. */
export interface RuntimeMetric {
  name: string;
  timestamp: bigint;
  type: 'counter' | 'gauge';
  labelValues: string[];
  value?: number;
}

export interface PodSandboxMetrics {
  podSandboxId: string;
  metrics: RuntimeMetric[];
  containers: { containerId: string; metrics: RuntimeMetric[] }[];
}

export interface RestorePodRequest {
  checkpointPath: string;
  config: PodSandboxConfig;
  runtimeHandler: string;
  options: Record<string, string>;
  containerConfigs: ContainerConfig[];
}

export interface RestoredPod {
  podSandboxId: string;
  containers: { name: string; containerId: string }[];
}
