/** Kubernetes objects other than pods, in their JSON form, as far as some room reads or writes their fields. */
import type { ResourceList, StringMap, Toleration } from '../api/types.ts';
import type { KubeObject } from './api.ts';

export interface Taint {
  key: string;
  value?: string;
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  timeAdded?: string | null;
}

export interface NodeCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  lastHeartbeatTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface NodeAddress {
  type: 'Hostname' | 'InternalIP' | 'ExternalIP' | 'InternalDNS' | 'ExternalDNS';
  address: string;
}

export interface NodeSystemInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osImage: string;
  containerRuntimeVersion: string;
  kubeletVersion: string;
  kubeProxyVersion: string;
  operatingSystem: string;
  architecture: string;
  swap?: { capacity?: number };
  runningInUserNamespace?: boolean;
}

export interface NodeStatus {
  capacity?: ResourceList;
  allocatable?: ResourceList;
  phase?: string;
  conditions?: NodeCondition[];
  addresses?: NodeAddress[];
  daemonEndpoints?: { kubeletEndpoint?: { Port: number } };
  nodeInfo?: NodeSystemInfo;
  images?: { names?: string[]; sizeBytes?: number }[];
  volumesInUse?: string[];
  volumesAttached?: { name: string; devicePath: string }[];
  config?: Record<string, unknown>;
  runtimeHandlers?: { name?: string; features?: { recursiveReadOnlyMounts?: boolean; userNamespaces?: boolean } }[];
  features?: { supplementalGroupsPolicy?: boolean };
  declaredFeatures?: string[];
}

export interface Node extends KubeObject {
  spec?: {
    podCIDR?: string;
    podCIDRs?: string[];
    providerID?: string;
    unschedulable?: boolean;
    taints?: Taint[];
  };
  status?: NodeStatus;
}

/** coordination.k8s.io/v1. Times are MicroTime. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string | null;
    renewTime?: string | null;
    leaseTransitions?: number;
  };
}

export interface ConfigMap extends KubeObject {
  data?: StringMap;
  /** base64 */
  binaryData?: StringMap;
  immutable?: boolean;
}

export interface Secret extends KubeObject {
  /** base64 */
  data?: StringMap;
  type?: string;
  immutable?: boolean;
}

export interface ServicePort {
  name?: string;
  protocol?: string;
  port: number;
  targetPort?: number | string;
  nodePort?: number;
}

export interface Service extends KubeObject {
  spec?: { clusterIP?: string; clusterIPs?: string[]; type?: string; ports?: ServicePort[] };
}

export interface PersistentVolumeClaim extends KubeObject {
  spec: {
    volumeName?: string;
    volumeMode?: string;
    accessModes?: string[];
    storageClassName?: string;
    resources?: { requests?: ResourceList };
  };
  status?: {
    phase?: string;
    accessModes?: string[];
    capacity?: ResourceList;
    /** The size that the controller has made, which the node may not have yet. */
    allocatedResources?: ResourceList;
    allocatedResourceStatuses?: StringMap;
    conditions?: { type: string; status: string; message?: string }[];
  };
}

/** Of a PersistentVolume, what is the same for every kind; the kind's own source is a field beside these. */
export interface PersistentVolumeSpec {
  accessModes?: string[];
  capacity?: ResourceList;
  claimRef?: ObjectReference;
  mountOptions?: string[];
  nodeAffinity?: { required?: { nodeSelectorTerms?: unknown[] } };
  volumeMode?: string;
  [source: string]: unknown;
}

export interface PersistentVolume extends KubeObject {
  spec: PersistentVolumeSpec;
  status?: { phase?: string };
}

/** certificates.k8s.io/v1; what is asked for is written as plain JSON. */
export interface PodCertificateRequest extends KubeObject {
  status?: {
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    certificateChain?: string;
    beginRefreshAt?: string;
    notAfter?: string;
  };
}

/** certificates.k8s.io */
export interface ClusterTrustBundle extends KubeObject {
  spec: { signerName?: string; trustBundle: string };
}

export interface ObjectReference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** core/v1, as the kubelet writes them. */
export interface KubeEvent extends KubeObject {
  involvedObject: ObjectReference;
  reason: string;
  message: string;
  source: { component?: string; host?: string };
  firstTimestamp: string | null;
  lastTimestamp: string | null;
  count: number;
  type: string;
  eventTime: null;
  reportingComponent: string;
  reportingInstance: string;
}

/** authentication.k8s.io/v1 */
export interface TokenRequest {
  apiVersion?: string;
  kind?: string;
  metadata?: Record<string, unknown>;
  spec: {
    audiences?: string[];
    expirationSeconds?: number;
    boundObjectRef?: { kind: string; apiVersion: string; name: string; uid?: string } | undefined;
  };
  status?: { token: string; expirationTimestamp: string };
}

/** authentication.k8s.io/v1 */
export interface TokenReview {
  apiVersion?: string;
  kind?: string;
  spec: { token: string; audiences?: string[] };
  status?: {
    authenticated?: boolean;
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
    audiences?: string[];
    error?: string;
  };
}

/** authorization.k8s.io/v1 */
export interface SubjectAccessReview {
  apiVersion?: string;
  kind?: string;
  spec: {
    user?: string;
    groups?: string[];
    uid?: string;
    extra?: Record<string, string[]>;
    resourceAttributes?: {
      namespace?: string;
      verb?: string;
      group?: string;
      version?: string;
      resource?: string;
      subresource?: string;
      name?: string;
    };
    nonResourceAttributes?: { path?: string; verb?: string };
  };
  status?: { allowed: boolean; denied?: boolean; reason?: string; evaluationError?: string };
}

/** node.k8s.io/v1 */
export interface RuntimeClass extends KubeObject {
  handler: string;
  overhead?: { podFixed?: ResourceList };
  scheduling?: { nodeSelector?: StringMap; tolerations?: Toleration[] };
}

/** certificates.k8s.io/v1 */
export interface CertificateSigningRequest extends KubeObject {
  spec: { request: string; signerName: string; usages: string[]; expirationSeconds?: number };
  status?: { conditions?: { type: string; status: string; reason?: string; message?: string }[]; certificate?: string };
}

/** storage.k8s.io/v1 */
export interface CSINode extends KubeObject {
  spec: { drivers: CSINodeDriver[] | null };
}

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  /** Null as the API server writes an empty list. */
  topologyKeys?: string[] | null;
  allocatable?: { count?: number };
}

/** storage.k8s.io/v1 */
export interface CSIDriver extends KubeObject {
  spec: {
    attachRequired?: boolean;
    podInfoOnMount?: boolean;
    volumeLifecycleModes?: string[];
    fsGroupPolicy?: string;
    tokenRequests?: { audience: string; expirationSeconds?: number }[];
    requiresRepublish?: boolean;
    seLinuxMount?: boolean;
    nodeAllocatableUpdatePeriodSeconds?: number;
    serviceAccountTokenInSecrets?: boolean;
  };
}

/** storage.k8s.io/v1 */
export interface VolumeAttachment extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } };
  status?: {
    attached: boolean;
    attachmentMetadata?: StringMap;
    attachError?: { message?: string; errorCode?: number };
  };
}
