import type { ContainerId, PodUid, SandboxId } from '../api/brands.ts';
import type { ContainerState, ContainerStatus, PodSandboxState, PodSandboxStatus } from '../cri/types.ts';

/** A container as the runtime reported it, with what the agent wrote into its annotations. */
export interface ObservedContainer {
  id: ContainerId;
  name: string;
  sandboxId: SandboxId;
  state: ContainerState;
  /** From the annotation; the container hash as lower hex, empty when the annotation is missing. */
  hash: string;
  /** From the annotation; 0 when missing. */
  restartCount: number;
  /** The runtime's full answer. `status.message` already holds the termination message. */
  status: ContainerStatus;
}

export interface ObservedSandbox {
  id: SandboxId;
  attempt: number;
  state: PodSandboxState;
  createdAt: bigint;
  status: PodSandboxStatus;
}

/** Everything the runtime knew of one pod at one instant. */
export interface ObservedPod {
  uid: PodUid;
  name: string;
  namespace: string;
  /** IPs of the newest ready sandbox, primary first; empty for host network or no sandbox. */
  ips: string[];
  /** Newest first. */
  sandboxes: ObservedSandbox[];
  /** Newest first; also those of old sandboxes that are not yet removed. */
  containers: ObservedContainer[];
  /** Clock.monotonic() when the request was sent: an older observation never replaces a newer one. */
  observedAt: number;
}

/** A pod that changed between two looks at the runtime. Carries no state: the lane reads for itself. */
export interface PodLifecycleEvent {
  uid: PodUid;
  type: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'PodSync';
  /** The container (or sandbox) that changed. */
  id: string;
}
