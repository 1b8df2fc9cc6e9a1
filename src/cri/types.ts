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
  features?: { supplementalGroupsPolicy: boolean };
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
}

export interface Device {
  containerPath: string;
  hostPath: string;
  permissions: string;
}

export interface LinuxContainerSecurityContext {
  capabilities?: { addCapabilities: string[]; dropCapabilities: string[] };
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
