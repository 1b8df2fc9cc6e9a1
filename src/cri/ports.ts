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
