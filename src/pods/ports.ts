import type { PodUid } from '../api/brands.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import type { MadeMembers } from '../pleg/observer.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { ProbeKind, ProbeResult } from '../sync/plan-input.ts';
import type { ResizeInput } from '../sync/plan-resize.ts';
import type { StatusOverride } from './lifecycle.ts';

/** Computes and stores what the API shows of a pod. */
export interface StatusPublisher {
  /** `terminal`: no container will run again. */
  publish(pod: Pod, observed: ObservedPod, opts: { terminal: boolean; override?: StatusOverride | undefined }): PodStatus;
  /** Why containers do not start; replaces what was noted for them. */
  noteFailures(uid: PodUid, failures: ReadonlyMap<string, { reason: string; message: string }>): void;
  /** Everything of the pod is gone from the node. */
  terminated(pod: Pod): void;
  /** The pod begins anew, or is gone for good: nothing of its status is kept. */
  forget(uid: PodUid): void;
}

/** The cgroups of pods. `ensure` comes before the sandbox, `destroy` after the last container. */
export interface PodCgroupsPort {
  /** False when the pod's group, or one of its halves, is not there. */
  exists(pod: Pod): Promise<boolean>;
  ensurePod(pod: Pod): Promise<void>;
  destroyPod(pod: Pod): Promise<void>;
}

/** Volumes of pods: mounted before the first container, unmounted after the last one. */
export interface PodVolumes {
  mount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Brings files that show objects and fields up to date; a failure is told and costs nothing else. Once a sync. */
  refresh(pod: Pod, signal: AbortSignal): Promise<void>;
  unmount(pod: Pod, signal: AbortSignal): Promise<void>;
}

/** Objects of the API server that pods refer to: known for as long as a pod is registered. Both may be called again. */
export interface PodObjects {
  register(pod: Pod): void;
  unregister(uid: string): void;
}

/** The pod's directories under the root directory. */
export interface PodDirs {
  make(pod: Pod): Promise<void>;
}

/** The blocks of ids that pods of their own user namespace have. */
export interface PodUserNamespaces {
  release(uid: string): Promise<void>;
  /** Frees those of pods that nobody knows. Never rejects. */
  sweep(isKnown: (uid: string) => boolean): Promise<void>;
}

/** Probe workers and their results. */
export interface PodProbes {
  add(pod: Pod): void;
  /** Liveness and startup probes of a pod that is on its way out. */
  stopLivenessAndStartup(pod: Pod): void;
  remove(pod: Pod): void;
  result(containerId: string, kind: ProbeKind): ProbeResult;
}

/** In-place resize, as a sync of a pod sees it. */
export interface PodResizes {
  /** What the plan is to compare with. */
  input(pod: Pod): ResizeInput;
  /** Takes what runs into account for PodResizeInProgress; before a status is made. */
  observed(pod: Pod, observed: ObservedPod): Promise<void>;
  /** The pod has its control group. */
  prepared(pod: Pod): void;
  /** A resize was tried; `fault` says why it failed. */
  tried(pod: Pod, fault: string | undefined): void;
}

/** What the runtime said of itself last: undefined when the network is ready, else why it is not. */
export interface NetworkState {
  notReady(): string | undefined;
}

/** Notes that the runtime does not answer, so that its return is looked for at once. */
export interface RuntimeSuspect {
  suspect(): void;
}

/** Looks at one pod in the runtime. */
export interface PodObserver {
  observe(uid: PodUid, signal?: AbortSignal): Promise<ObservedPod>;
  /** What is known of a pod after some of its members were made. */
  update(previous: ObservedPod, made: MadeMembers, signal?: AbortSignal): Promise<ObservedPod>;
  /** For a pod never seen here before: nothing, where a complete list says that the runtime has nothing of it. */
  first(uid: PodUid, signal?: AbortSignal): Promise<ObservedPod>;
}

/** A line in the pod's own record of what was decided and done. */
export interface PodTimeline {
  note(uid: PodUid, what: string, detail?: string): void;
}
