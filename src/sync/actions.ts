import type { Amounts } from '../api/allocation.ts';
import type { ContainerId, SandboxId } from '../api/brands.ts';

export type ContainerKind = 'init' | 'regular' | 'ephemeral';

/** Why a container is stopped alone. The grace it gets depends on it (contract: pod-lifecycle §7). */
export type KillReason = 'startupProbe' | 'livenessProbe' | 'definitionChanged' | 'unknownState' | 'postStartFailed' | 'resize';

/** A running container whose size changes; both with the pod's limits where the container has none. */
export interface ContainerUpdate {
  id: ContainerId;
  name: string;
  desired: Amounts;
  current: Amounts;
}

/**
 * One effect that the plan asks for. The actions of one stage may run side by side; the lane then looks at the
 * runtime again and plans the next stage.
 */
export type PodAction =
  /** Stop every container and every sandbox of the pod; `purgeInit` removes the exited init containers as well. */
  | { type: 'KillPod'; purgeInit: boolean; why: string }
  | { type: 'RunPodSandbox'; attempt: number; previousId: SandboxId | '' }
  /** `thenStart` makes the container start again whatever its restart policy says. */
  | { type: 'KillContainer'; id: ContainerId; name: string; reason: KillReason; message: string; thenStart: boolean }
  /** Removes an instance that has ended, and its logs. */
  | { type: 'RemoveContainer'; id: ContainerId; name: string }
  /** Removes an instance whatever its state; `stop`: stopped first, without grace. Its logs stay: counts go on from them. */
  | { type: 'ResetContainer'; id: ContainerId; name: string; stop: boolean }
  /**
   * Bring allocated resources into force: those of running containers, in this order, and the pod's own group. `podLevel`:
   * the pod's own resources differ; `starts`: its group is to be looked at, as a container starts with another size, or as a
   * resize was left unfinished.
   */
  | { type: 'ResizePod'; sandboxId: SandboxId; memory: ContainerUpdate[]; cpu: ContainerUpdate[]; podLevel: boolean; starts: boolean }
  | { type: 'StartContainer'; kind: ContainerKind; name: string };

export type PodActionType = PodAction['type'];
export type ActionOf<T extends PodActionType> = Extract<PodAction, { type: T }>;

/** A container that should start but must wait for its back-off. Times in milliseconds. */
export interface BackOffWait {
  kind: ContainerKind;
  name: string;
  /** How long until it may start. */
  remainingMs: number;
  /** The whole back-off, as shown in `back-off 40s restarting failed container=...`. */
  delayMs: number;
}

/** The next stage of a pod. Nothing to do and no waits: the pod is as it should be. */
export interface Plan {
  actions: PodAction[];
  waits: BackOffWait[];
}
