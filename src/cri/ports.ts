import type * as t from './types.ts';

/**
 * The calls the agent makes of a runtime's RuntimeService. Each one rejects with CriError. Deadlines are the
 * contract's (compat-matrix.md §2) unless `opts.timeoutMs` says otherwise.
 */
export interface CriRuntime {
  version(opts?: t.CallOptions): Promise<t.RuntimeVersion>;
  status(opts?: t.CallOptions): Promise<t.RuntimeStatus>;
  /** The runtime's cgroup driver, undefined when it answers without one. Rejects `Unimplemented` on old runtimes. */
  runtimeConfig(opts?: t.CallOptions): Promise<'systemd' | 'cgroupfs' | undefined>;
  updateRuntimeConfig(podCidr: string, opts?: t.CallOptions): Promise<void>;
  runPodSandbox(config: t.PodSandboxConfig, runtimeHandler: string, opts?: t.CallOptions): Promise<string>;
  stopPodSandbox(id: string, opts?: t.CallOptions): Promise<void>;
  removePodSandbox(id: string, opts?: t.CallOptions): Promise<void>;
  podSandboxStatus(id: string, opts?: t.CallOptions): Promise<t.PodSandboxStatus>;
  listPodSandbox(filter?: t.PodSandboxFilter, opts?: t.CallOptions): Promise<t.PodSandbox[]>;
  createContainer(
    podSandboxId: string,
    config: t.ContainerConfig,
    sandboxConfig: t.PodSandboxConfig,
    opts?: t.CallOptions,
  ): Promise<string>;
  startContainer(id: string, opts?: t.CallOptions): Promise<void>;
  /** `timeoutSeconds` is the runtime's SIGTERM-to-SIGKILL wait; the call's own deadline is added on top. */
  stopContainer(id: string, timeoutSeconds: number, opts?: t.CallOptions): Promise<void>;
  removeContainer(id: string, opts?: t.CallOptions): Promise<void>;
  listContainers(filter?: t.ContainerFilter, opts?: t.CallOptions): Promise<t.Container[]>;
  containerStatus(id: string, opts?: t.CallOptions): Promise<t.ContainerStatus>;
  updateContainerResources(id: string, resources: t.LinuxContainerResources, opts?: t.CallOptions): Promise<void>;
  reopenContainerLog(id: string, opts?: t.CallOptions): Promise<void>;
  execSync(id: string, cmd: string[], timeoutSeconds: number, opts?: t.CallOptions): Promise<t.ExecSyncResult>;
  /** The runtime's event stream; ends or throws when the stream does. `Unimplemented` on runtimes without it. */
  containerEvents(signal: AbortSignal): AsyncIterable<t.ContainerEvent>;
}

/** The calls the agent makes of a runtime's ImageService (compat-matrix.md §3). */
export interface CriImages {
  listImages(opts?: t.CallOptions): Promise<t.Image[]>;
  /** Undefined when the image is absent. */
  imageStatus(image: t.ImageSpec, opts?: t.CallOptions): Promise<t.Image | undefined>;
  /** The image reference of the pulled image. No deadline of its own. */
  pullImage(
    image: t.ImageSpec,
    auth: t.AuthConfig | undefined,
    sandboxConfig: t.PodSandboxConfig | undefined,
    opts?: t.CallOptions,
  ): Promise<string>;
  removeImage(image: t.ImageSpec, opts?: t.CallOptions): Promise<void>;
  imageFsInfo(opts?: t.CallOptions): Promise<t.FilesystemUsage[]>;
}

/** URLs of the runtime's streaming server, for the agent to proxy. */
export interface CriStreaming {
  exec(request: t.ExecRequest, opts?: t.CallOptions): Promise<string>;
  attach(request: t.AttachRequest, opts?: t.CallOptions): Promise<string>;
  portForward(podSandboxId: string, ports: number[], opts?: t.CallOptions): Promise<string>;
}

/** Statistics and metrics that the runtime measures. Each may reject `Unimplemented`. */
export interface CriStats {
  containerStats(id: string, opts?: t.CallOptions): Promise<t.ContainerStats>;
  listContainerStats(filter?: t.ContainerStatsFilter, opts?: t.CallOptions): Promise<t.ContainerStats[]>;
  podSandboxStats(id: string, opts?: t.CallOptions): Promise<t.PodSandboxStats>;
  listPodSandboxStats(filter?: t.PodSandboxStatsFilter, opts?: t.CallOptions): Promise<t.PodSandboxStats[]>;
  listMetricDescriptors(opts?: t.CallOptions): Promise<t.MetricDescriptor[]>;
  listPodSandboxMetrics(opts?: t.CallOptions): Promise<t.PodSandboxMetrics[]>;
}

export interface CriCheckpoint {
  /** `timeoutSeconds` must not be negative; the call waits for the longer of it and the usual deadline. */
  checkpointContainer(id: string, location: string, timeoutSeconds: number, opts?: t.CallOptions): Promise<void>;
  checkpointPod(
    podSandboxId: string,
    outputPath: string,
    containerIds: string[],
    options: Record<string, string>,
    opts?: t.CallOptions,
  ): Promise<void>;
  restorePod(request: t.RestorePodRequest, opts?: t.CallOptions): Promise<t.RestoredPod>;
}

export interface CriSandboxResize {
  /** False when the runtime does not know the call, which is no error (contract: compat-matrix.md §2). */
  updatePodSandboxResources(
    podSandboxId: string,
    overhead: t.LinuxContainerResources | undefined,
    resources: t.LinuxContainerResources | undefined,
    opts?: t.CallOptions,
  ): Promise<boolean>;
}

/** Details that only people read (`kubelet-ts` diagnostics). */
export interface CriVerbose {
  verboseStatus(opts?: t.CallOptions): Promise<t.RuntimeStatus>;
}

/** Both lists of ImageFsInfo; `CriImages.imageFsInfo` gives the first one only. */
export interface CriImageFs {
  imageFilesystems(opts?: t.CallOptions): Promise<t.ImageFsInfo>;
}
