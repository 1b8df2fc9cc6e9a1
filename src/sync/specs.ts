import { posix } from 'node:path';
import type { Container, Pod, ResourceList } from '../api/types.ts';
import { containerLogsDirectory } from '../containers/log-paths.ts';
import type { CriImages } from '../cri/ports.ts';
import type { ContainerConfig, Device, ImageSpec, LinuxContainerResources, Mount, UserNamespace } from '../cri/types.ts';
import type { Files } from '../host/files.ts';
import type { Random } from '../host/random.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Placement } from '../resources/managers.ts';
import { containerConfig } from './container-config.ts';
import { containerResources, sandboxOverhead } from './container-resources.ts';
import type { ContainerSpecInput, SpecBuilder } from './context.ts';
import { type DnsConfig, type DnsSettings, parseResolvConf, podDns, ResolvConfError } from './dns.ts';
import { envFileValue } from './env-file.ts';
import { containerEnvironment, type EnvObjects, type ResolvedEnv } from './environment.ts';
import { SyncError } from './errors.ts';
import { podHostname } from './hostname.ts';
import { hostNetworkHostsFile, managedHostsFile, needsHostsFile } from './hosts-file.ts';
import type { NodeSettings } from './node-settings.ts';
import { sandboxConfig } from './sandbox-config.ts';
import { imageUser } from './security-context.ts';

/** The mounts that a pod's volumes give to one container. Rejects with SyncError when one cannot be made. */
export interface VolumeMounts {
  mountsOf(
    pod: Pod,
    container: Container,
    env: readonly ResolvedEnv[],
    images: ReadonlyMap<string, ImageSpec> | undefined,
  ): Promise<Mount[]>;
  devicesOf(pod: Pod, container: Container): Promise<Device[]>;
  /** Groups that the pod's volumes bring. */
  groupsOf(pod: Pod): number[];
  /** A file in one of the pod's volumes, at most `maxBytes`. */
  readFile(pod: Pod, volume: string, path: string, maxBytes: number): Promise<Buffer>;
}

/** A RuntimeClass by its name. Rejects when there is none of that name. */
export interface RuntimeHandlers {
  handlerOf(runtimeClassName: string | undefined): Promise<string>;
}

/** The user namespace of a pod. Rejects when it cannot have the one that it asks for. */
export interface PodUserNamespaces {
  of(pod: Pod, runtimeHandler: string): Promise<UserNamespace>;
}

export interface PodSpecsDeps {
  node: NodeSettings;
  nodeName: string;
  hostIPs(): readonly string[];
  allocatable(): ResourceList;
  podLogsDir: string;
  /** {root}/pods. */
  podsDir: string;
  clusterDomain: string;
  clusterDNS: readonly string[];
  /** The node's resolv.conf for pods; '' for none. */
  resolvConf: string;
  cgroupParent(pod: Pod): string;
  /** CPUs and memory that are given out; absent where none are. */
  managers?: {
    placement(pod: Pod, container: Container): Promise<Placement>;
    podHasExclusiveCpus(pod: Pod): boolean;
    hasExclusiveCpus(pod: Pod, container: Container): boolean;
  };
  images: Pick<CriImages, 'imageStatus'>;
  volumes: VolumeMounts;
  runtimeHandlers: RuntimeHandlers;
  /** Absent: pods have the host's, and one that asks for its own is refused. */
  userNamespaces?: PodUserNamespaces | undefined;
  objects?: EnvObjects;
  serviceEnv?(pod: Pod): Promise<ReadonlyMap<string, string>>;
  files: Files;
  random: Random;
  events: EventRecorder;
}

/** Longest env file (fileKeyRef) that is read. */
const ENV_FILE_LIMIT = 64 * 1024;
const ETC_HOSTS = '/etc/hosts';
/** Longest resolv.conf that is read. */
const RESOLV_CONF_LIMIT = 10 * 1024 * 1024;

/** Builds what the runtime is told about a pod, with the files on disk that go with it. */
export class PodSpecs implements SpecBuilder {
  readonly #deps: PodSpecsDeps;

  constructor(deps: PodSpecsDeps) {
    this.#deps = deps;
  }

  async sandbox(pod: Pod, attempt: number) {
    const { node, podLogsDir, clusterDomain, cgroupParent, volumes, runtimeHandlers } = this.#deps;
    const [dns, runtimeHandler] = await Promise.all([this.#dns(pod), runtimeHandlers.handlerOf(pod.spec.runtimeClassName)]);
    const parent = cgroupParent(pod);
    const userns = await this.#deps.userNamespaces?.of(pod, runtimeHandler);
    const config = sandboxConfig({
      pod,
      attempt,
      cgroupParent: parent,
      podLogsDir,
      dns,
      clusterDomain,
      node,
      volumeGroups: volumes.groupsOf(pod),
      exclusiveCpus: this.#deps.managers?.podHasExclusiveCpus(pod) === true,
      userns,
    });
    return { config, runtimeHandler };
  }

  async container({ pod, container, restartCount, imageRef, podIps, targetId, ...more }: ContainerSpecInput): Promise<ContainerConfig> {
    const { node, nodeName, allocatable, images, volumes, objects, serviceEnv } = this.#deps;
    const addresses = pod.spec.hostNetwork === true ? [...this.#deps.hostIPs()] : podIps;
    const [env, image] = await Promise.all([
      containerEnvironment({
        pod,
        container,
        podIps: addresses,
        hostIps: this.#deps.hostIPs(),
        nodeName,
        allocatable: allocatable(),
        objects,
        fileKey: async (volume, path, key) => envFileValue((await volumes.readFile(pod, volume, path, ENV_FILE_LIMIT)).toString(), key),
        ...(serviceEnv === undefined ? {} : { serviceEnv: await serviceEnv(pod) }),
      }),
      // Asked at every create: an image may have been replaced under its name (CVE-2019-11245).
      images.imageStatus({ image: imageRef }, { signal: more.signal }),
    ]);
    const mounts = await volumes.mountsOf(pod, container, env, more.imageVolumes);
    const placement = await this.#deps.managers?.placement(pod, container);
    const devices = await volumes.devicesOf(pod, container);
    const own = await Promise.all([this.#hostsFile(pod, mounts, podIps), this.#terminationLog(pod, container)]);
    return containerConfig({
      pod,
      container,
      restartCount,
      imageRef,
      user: imageUser(image),
      targetId,
      userns: more.userns,
      env,
      mounts: [...mounts, ...own.filter((m) => m !== undefined)],
      devices,
      node,
      allocatable: allocatable(),
      volumeGroups: volumes.groupsOf(pod),
      ...(placement === undefined ? {} : { placement }),
    });
  }

  containerLogDir(pod: Pod, container: string): string {
    return containerLogsDirectory(this.#deps.podLogsDir, pod.metadata, container);
  }

  containerResources(pod: Pod, container: Container): LinuxContainerResources {
    const exclusiveCpus = this.#deps.managers?.hasExclusiveCpus(pod, container) === true;
    return containerResources(pod, container, this.#deps.node, { exclusiveCpus, allocatable: this.#deps.allocatable() });
  }

  sandboxOverhead(pod: Pod): LinuxContainerResources {
    return sandboxOverhead(pod, this.#deps.node);
  }

  async #dns(pod: Pod): Promise<DnsConfig> {
    const { clusterDNS, clusterDomain, hostIPs, events } = this.#deps;
    const settings: DnsSettings = { host: await this.#hostResolver(), nodeIPs: hostIPs(), clusterDNS, clusterDomain };
    const dns = podDns(pod, settings);
    for (const { on, reason, message } of dns.events) if (on === 'pod') events.event(podEventObject(pod), 'Warning', reason, message);
    return dns.config;
  }

  async #hostResolver(): Promise<DnsConfig | undefined> {
    const { resolvConf, files } = this.#deps;
    if (resolvConf === '') return undefined;
    try {
      return parseResolvConf((await files.read(resolvConf, RESOLV_CONF_LIMIT)).toString());
    } catch (err) {
      const why = err instanceof ResolvConfError || err instanceof Error ? err.message : String(err);
      throw new SyncError('ConfigPodSandboxError', `cannot use the node's resolvConf ${resolvConf}: ${why}`, { cause: err });
    }
  }

  /** /etc/hosts, written anew at every start of a container: addresses may have changed. */
  async #hostsFile(pod: Pod, mounts: readonly Mount[], podIps: readonly string[]): Promise<Mount | undefined> {
    const { files, podsDir, clusterDomain } = this.#deps;
    const paths = mounts.map((m) => m.containerPath);
    if (!needsHostsFile(pod.spec, paths, podIps)) return undefined;
    const { hostNetwork, hostAliases } = pod.spec;
    const content =
      hostNetwork === true
        ? hostNetworkHostsFile(await files.read(ETC_HOSTS), hostAliases)
        : managedHostsFile(podIps, podHostname(pod, clusterDomain), hostAliases);
    const hostPath = posix.join(podsDir, pod.metadata.uid, 'etc-hosts');
    await files.write(hostPath, content, 0o644);
    return { containerPath: ETC_HOSTS, hostPath, readonly: false, selinuxRelabel: false, propagation: 'PRIVATE' };
  }

  /** An empty file of its own for every instance, where the container leaves its last words. */
  async #terminationLog(pod: Pod, container: Container): Promise<Mount | undefined> {
    const { files, podsDir, random } = this.#deps;
    const containerPath = container.terminationMessagePath ?? '';
    if (containerPath === '') return undefined;
    const dir = posix.join(podsDir, pod.metadata.uid, 'containers', container.name);
    await files.mkdir(dir, 0o750);
    const hostPath = posix.join(dir, random.hex(4));
    await files.write(hostPath, '', 0o666);
    return { containerPath, hostPath, readonly: false, selinuxRelabel: false, propagation: 'PRIVATE' };
  }
}
