import type { KubeApi } from '../kube/api.ts';
import type { Service } from '../observe/service.ts';
import type { MirrorPods } from '../pods/mirrors.ts';
import type { PodObjects } from '../pods/ports.ts';
import type { ClusterNodeServices, ObservedRuntime } from './cluster-node.ts';

/** What a node of a cluster has beside a standalone one. */
export interface ClusterPort {
  api: KubeApi;
  mirrors: MirrorPods;
  /** The services that make the machine a node: its object, status, lease and events. */
  node?(observed: ObservedRuntime): ClusterNodeServices;
  /** UID of the Node's object, empty while it is not known. */
  nodeUid?(): string;
  /** What pods refer to. */
  objects?: PodObjects & Service;
}
