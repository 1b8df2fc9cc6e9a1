import type { SandboxId } from '../api/brands.ts';
import type { Container, LifecycleHandler, Pod } from '../api/types.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { ContainerConfig, ImageSpec, LinuxContainerResources, PodSandboxConfig, UserNamespace } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { SyncError } from './errors.ts';
import type { ImageVolumes } from './image-volumes.ts';
import type { PodResizer } from './resize-pod.ts';

/** Makes an image present. Rejects with an error whose `code` is the waiting reason (contract: events.md §4). */
export interface ImageEnsurer {
  ensureImage(req: {
    pod: Pod;
    container: Pick<Container, 'image' | 'imagePullPolicy'>;
    /** Absent for the image of a volume: what is told is then about the pod. */
    fieldPath?: string;
    sandboxConfig: PodSandboxConfig;
    signal: AbortSignal;
  }): Promise<{ imageRef: string }>;
  /** The runtime did not find this image although it was said to be present: the next call asks again. */
  forget(imageRef: string): void;
  /** Drops old back-offs. */
  collect(): void;
}

/** Turns a pod into what the runtime is told. Rejects with SyncError (CreateContainerConfigError, ConfigPodSandboxError). */
export interface SpecBuilder {
  sandbox(pod: Pod, attempt: number): Promise<{ config: PodSandboxConfig; runtimeHandler: string }>;
  container(input: ContainerSpecInput): Promise<ContainerConfig>;
  containerLogDir(pod: Pod, container: string): string;
  /** What the runtime enforces for a container: also when it is resized. */
  containerResources(pod: Pod, container: Container): LinuxContainerResources;
  sandboxOverhead(pod: Pod): LinuxContainerResources;
}

export interface ContainerSpecInput {
  pod: Pod;
  container: Container;
  restartCount: number;
  imageRef: string;
  podIps: string[];
  /** The container whose processes an ephemeral container is to see. */
  targetId?: string | undefined;
  /** As the sandbox has it. */
  userns?: UserNamespace | undefined;
  /** By the name of the volume: the images that it mounts. */
  imageVolumes?: ReadonlyMap<string, ImageSpec>;
  signal: AbortSignal;
}

/** Runs lifecycle hooks. Rejects when the hook failed; the message says why. */
export interface HookRunner {
  run(
    hook: LifecycleHandler,
    target: { pod: Pod; container: Container; containerId: string; podIps: string[] },
    signal: AbortSignal,
  ): Promise<void>;
}

export interface SyncMetrics {
  sandboxStarted(runtimeHandler: string, seconds: number, failed: boolean): void;
  containerStarted(kind: string, errorCode: string | undefined): void;
  /** A pod of its own user namespace got its sandbox in a sync; `failed`: something of that sync failed. */
  userNamespacedPodStarted(failed: boolean): void;
  /** A container with `requested` image volumes was tried; `failed`: the runtime could not mount them. */
  imageVolumesMounted(requested: number, failed: boolean): void;
}

export interface SyncDeps {
  runtime: Pick<
    CriRuntime,
    'runPodSandbox' | 'stopPodSandbox' | 'createContainer' | 'startContainer' | 'stopContainer' | 'removeContainer'
  >;
  /** Removes an ended container from the runtime, with its logs unless `keepLogs`. One that is gone is no error. */
  remover: { remove(containerId: string, keepLogs?: boolean): Promise<void> };
  images: ImageEnsurer;
  specs: SpecBuilder;
  hooks: HookRunner;
  files: Files;
  clock: Clock;
  log: Logger;
  events: EventRecorder;
  metrics: SyncMetrics;
  /** Absent where nothing is resized. */
  resizer?: Pick<PodResizer, 'ready' | 'resize' | 'starts'> | undefined;
  /** Where the symlinks to container logs are made. */
  containerLogsDir: string;
}

/** What a lane remembers between the stages of a pod. Lost with the process: nothing here is needed for safety. */
export interface LaneMemory {
  stoppedSandboxes: Set<SandboxId>;
  mustStart: Set<string>;
}

/** A start slot that the pod holds; `whileSlow` gives it back while `work` waits for something outside. */
export interface HeldSlot {
  whileSlow<T>(work: Promise<T>): Promise<T>;
}

/** One stage of one pod under way. */
export interface StageContext {
  pod: Pod;
  observed: ObservedPod;
  memory: LaneMemory;
  /** The sandbox config of this sync, made once. */
  sandbox(attempt: number): Promise<{ config: PodSandboxConfig; runtimeHandler: string }>;
  /** The images that the pod mounts, asked for once a sync. */
  imageVolumes: ImageVolumes;
  slot: HeldSlot;
  signal: AbortSignal;
  /** What this stage has made in the runtime. */
  made: { sandboxes: string[]; containers: { id: string; sandboxId: string }[] };
  /** Errors of this stage by container name ('' for the pod itself). */
  failures: Map<string, SyncError>;
  /** Grace for a kill of the whole pod, seconds; undefined: the pod's own. */
  graceOverride: number | undefined;
}
