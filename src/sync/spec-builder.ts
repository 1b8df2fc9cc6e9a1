import { posix } from 'node:path';
import type { Container, Pod, ResourceList } from '../api/types.ts';
import { containerLogsDirectory } from '../containers/log-paths.ts';
import type { CriImages } from '../cri/ports.ts';
import type { ContainerConfig, DNSConfig, Image, Mount, PodSandboxConfig } from '../cri/types.ts';
import type { Files } from '../host/files.ts';
import type { Random } from '../host/random.ts';
import { ConfigGenerationError } from './config-error.ts';
import { containerConfig } from './container-config.ts';
import type { ContainerSpecInput, SpecBuilder } from './context.ts';
import type { EnvironmentInput, EnvObjects, ResolvedEnv } from './environment.ts';
import { containerEnvironment } from './environment.ts';
import { SyncError } from './errors.ts';
import { podHostname } from './hostname.ts';
import { hostNetworkHostsFile, managedHostsFile, needsHostsFile } from './hosts-file.ts';
import type { NodeSettings } from './node-settings.ts';
import { sandboxConfig } from './sandbox-config.ts';
import { imageUser } from './security-context.ts';

const HostsPath = '/etc/hosts';

export interface PodSpecBuilderDeps {
  node: NodeSettings;
  nodeName: string;
  clusterDomain: string;
  /** The agent's root directory and the directory of all pods' logs. */
  rootDir: string;
  podLogsDir: string;
  files: Files;
  random: Random;
  images: Pick<CriImages, 'imageStatus'>;
  /** The node's addresses, primary first. */
  hostIps(): readonly string[];
  /** The node's allocatable. */
  allocatable(): ResourceList;
  cgroupParent(pod: Pod): string;
  dns(pod: Pod): DNSConfig;
  /** The handler of the pod's RuntimeClass, '' for the runtime's own choice. Throws for an unknown class. */
  runtimeHandler(pod: Pod): string;
  /** Mounts of the container's volumes, sub paths resolved. */
  volumeMounts(pod: Pod, container: Container, env: readonly ResolvedEnv[], signal: AbortSignal): Promise<Mount[]>;
  /** Groups that the pod's volumes bring. */
  volumeGroups?(pod: Pod): readonly number[];
  /** Id of the container whose processes an ephemeral container may see. */
  targetId?(pod: Pod, container: Container): string | undefined;
  serviceEnv?(pod: Pod): ReadonlyMap<string, string>;
  envObjects?: EnvObjects | undefined;
  fileKey?: EnvironmentInput['fileKey'];
}

/** Builds what the runtime is told, and writes the files of the node that it refers to. */
export class PodSpecBuilder implements SpecBuilder {
  readonly #deps: PodSpecBuilderDeps;

  constructor(deps: PodSpecBuilderDeps) {
    this.#deps = deps;
  }

  /** Rejects, and never throws at once, with ConfigGenerationError. */
  async sandbox(pod: Pod, attempt: number): Promise<{ config: PodSandboxConfig; runtimeHandler: string }> {
    const { node, clusterDomain, podLogsDir } = this.#deps;
    try {
      const config = sandboxConfig({
        pod,
        attempt,
        cgroupParent: this.#deps.cgroupParent(pod),
        podLogsDir,
        dns: this.#deps.dns(pod),
        clusterDomain,
        node,
        volumeGroups: this.#deps.volumeGroups?.(pod) ?? [],
      });
      return { config, runtimeHandler: this.#deps.runtimeHandler(pod) };
    } catch (err) {
      throw asConfigError(err);
    }
  }

  async container(input: ContainerSpecInput): Promise<ContainerConfig> {
    const { pod, container, restartCount, imageRef, podIps, signal } = input;
    const { node } = this.#deps;
    try {
      const [env, image] = await Promise.all([this.#environment(input), this.#image(input)]);
      const [volumes, hosts, termination] = await Promise.all([
        this.#deps.volumeMounts(pod, container, env, signal),
        this.#hostsMount(pod, container, podIps),
        this.#terminationMount(pod, container),
      ]);
      return containerConfig({
        pod,
        container,
        restartCount,
        imageRef,
        user: imageUser(image),
        env,
        mounts: [...volumes, ...hosts, ...termination],
        node,
        allocatable: this.#deps.allocatable(),
        volumeGroups: this.#deps.volumeGroups?.(pod) ?? [],
        targetId: this.#deps.targetId?.(pod, container),
      });
    } catch (err) {
      signal.throwIfAborted();
      throw asConfigError(err, container.name);
    }
  }

  containerLogDir(pod: Pod, container: string): string {
    const { namespace, name, uid } = pod.metadata;
    return containerLogsDirectory(this.#deps.podLogsDir, { namespace, name, uid }, container);
  }

  /**
   * Asked each time: the image may have changed under its name (CVE-2019-11245). One that is gone is an error, since a
   * container without a known user would run as root.
   */
  async #image({ container, imageRef, signal }: ContainerSpecInput): Promise<Image> {
    const { images } = this.#deps;
    const named = container.image ?? '';
    const found = (await images.imageStatus({ image: imageRef }, { signal })) ?? (await images.imageStatus({ image: named }, { signal }));
    if (found === undefined) throw new ConfigGenerationError(`image ${JSON.stringify(named)} is no longer on the node`, container.name);
    return found;
  }

  #environment({ pod, container, podIps }: ContainerSpecInput): Promise<ResolvedEnv[]> {
    const { nodeName, envObjects, fileKey } = this.#deps;
    const serviceEnv = this.#deps.serviceEnv?.(pod);
    return containerEnvironment({
      pod,
      container,
      podIps,
      hostIps: this.#deps.hostIps(),
      nodeName,
      allocatable: this.#deps.allocatable(),
      ...(serviceEnv === undefined ? {} : { serviceEnv }),
      objects: envObjects,
      fileKey,
    });
  }

  /** Written anew at every start of a container: the pod's address may have changed with its sandbox. */
  async #hostsMount(pod: Pod, container: Container, podIps: readonly string[]): Promise<Mount[]> {
    const { files, clusterDomain } = this.#deps;
    const mountPaths = (container.volumeMounts ?? []).map((mount) => mount.mountPath);
    if (!needsHostsFile(pod.spec, mountPaths, podIps)) return [];
    const { hostAliases } = pod.spec;
    const content =
      pod.spec.hostNetwork === true
        ? hostNetworkHostsFile(await files.read(HostsPath), hostAliases)
        : managedHostsFile(podIps, podHostname(pod, clusterDomain), hostAliases);
    const path = posix.join(this.#podDir(pod), 'etc-hosts');
    await files.mkdir(this.#podDir(pod), 0o750);
    await files.write(path, content, 0o644);
    return [{ containerPath: HostsPath, hostPath: path, selinuxRelabel: true }];
  }

  /** An empty file of its own for every start, which the container may write as any user (contract pod-lifecycle.md §9). */
  async #terminationMount(pod: Pod, container: Container): Promise<Mount[]> {
    const { files, random } = this.#deps;
    const containerPath = container.terminationMessagePath ?? '';
    if (containerPath === '') return [];
    const directory = posix.join(this.#podDir(pod), 'containers', container.name);
    const path = posix.join(directory, random.hex(4));
    await files.mkdir(directory, 0o750);
    await files.write(path, '', 0o666);
    return [{ containerPath, hostPath: path, selinuxRelabel: true }];
  }

  #podDir(pod: Pod): string {
    return posix.join(this.#deps.rootDir, 'pods', pod.metadata.uid);
  }
}

function asConfigError(err: unknown, container?: string): SyncError {
  if (err instanceof SyncError) return err;
  return new ConfigGenerationError(err instanceof Error ? err.message : String(err), container, err);
}
