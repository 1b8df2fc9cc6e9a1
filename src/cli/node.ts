import { posix } from 'node:path';
import type { AdmissionNode } from '../admission/general-predicates.ts';
import { podUid } from '../api/brands.ts';
import { toResourceList } from '../api/resources.ts';
import type { Pod } from '../api/types.ts';
import { backoffKey } from '../compat/backoff-key.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import { podLogsDirectory } from '../containers/log-paths.ts';
import { terminationMessage } from '../containers/termination-message.ts';
import { type ConnectedRuntime, connectRuntime } from '../cri/connect.ts';
import { pressureCheck } from '../eviction/admission.ts';
import { NodePressures } from '../eviction/node-pressures.ts';
import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import { isSwapAccounted } from '../host/cgroups/swap.ts';
import { systemClock } from '../host/clock.ts';
import { diskSpace } from '../host/disk.ts';
import { nodeFiles } from '../host/files-node.ts';
import { type Machine, readMachine } from '../host/machine.ts';
import { nodeMounts } from '../host/mounts.ts';
import { nodeName } from '../host/network.ts';
import { systemRandom } from '../host/random.ts';
import { systemTailReader } from '../host/tail.ts';
import type { KubeApi } from '../kube/api.ts';
import { createKubelet, type Kubelet, type KubeletOptions, type KubeletPorts } from '../kubelet.ts';
import { nodeReference } from '../node/node-reference.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { LogEvents } from '../observe/log-events.ts';
import type { Metrics } from '../observe/metrics.ts';
import { Timeline } from '../observe/timeline.ts';
import { PodDirectories } from '../pods/dirs.ts';
import type { ProbeMetrics } from '../probes/metrics.ts';
import { nodeAllocatable, nodeCapacity, podsLimits, totalReservation } from '../resources/node-allocatable.ts';
import { PodCgroups, podCgroupsScope } from '../resources/pod-cgroups.ts';
import { PodSpecs } from '../sync/specs.ts';
import type { VolumeStatsSource } from '../volumes/volume-stats.ts';
import { machineAddresses } from './addresses.ts';
import { nodeAdmission } from './admission.ts';
import { cgroupDriver, cgroupOptions, openDriver } from './cgroup-driver.ts';
import type { ClusterInput, ClusterLink } from './cluster.ts';
import { nodeImages } from './images.ts';
import { nodeSettings } from './node-settings.ts';
import { nodePlugins } from './plugins.ts';
import { nodeProbes } from './probes.ts';
import { enforceReservations, nodeReservations, qosReserve } from './reserved.ts';
import { nodeResize } from './resize.ts';
import { guarded, openResourceManagers } from './resource-managers.ts';
import { nodeHandlers } from './runtime-handlers.ts';
import { podSources } from './sources.ts';
import { nodeUpkeep } from './upkeep.ts';
import { nodeVolumes } from './volumes.ts';

export interface NodeInput {
  flags: KubeletFlags;
  config: ResolvedConfig;
  log: Logger;
  metrics: AgentMetrics;
  registry: Metrics;
  probeMetrics: ProbeMetrics;
  signal: AbortSignal;
}

/** The agent on this machine, with what its servers need beside it. */
export interface RealNode {
  kubelet: Kubelet;
  nodeName: string;
  /** Primary first. */
  hostIPs: readonly string[];
  machine: Machine;
  runtime: ConnectedRuntime;
  cgroups: PodCgroups;
  cgroupFs: CgroupFs;
  /** The API server; undefined for a standalone node. */
  api: KubeApi | undefined;
  cluster: ClusterLink | undefined;
  /** What the volumes of pods hold. */
  volumeStats: VolumeStatsSource;
  events: EventRecorder;
  /** What the node's events are about. */
  reference: EventObject;
  /** Set by whoever measures the node; admission and the node's status go by it. */
  pressures: NodePressures;
  /** Removes every image that no container uses. */
  removeUnusedImages(signal: AbortSignal): Promise<void>;
  /** Ends what speaks to the runtime and the API server. */
  close(): void;
}

const CGROUP_V1_TEXT =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. ' +
  'More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';
const CONTAINER_LOGS_DIR = '/var/log/containers';
const DEFAULT_POD_LOGS_DIR = '/var/log/pods';
/** How many pods start at a time: two to three for each CPU (bench/, docs/benchmarks.md). */
const SLOTS_PER_CPU = 3;

/** Builds the agent on the machine's own ports. Rejects when the runtime does not answer or the machine is refused. */
export async function realNode({ flags, config, log, metrics, registry, probeMetrics, signal }: NodeInput): Promise<RealNode> {
  const clock = systemClock;
  const files = nodeFiles;
  const name = nodeName(flags.hostnameOverride);
  const [runtime, machine, hostIPs] = await Promise.all([
    connectRuntime({
      endpoint: config.containerRuntimeEndpoint,
      imageEndpoint: config.imageServiceEndpoint,
      timeoutMs: config.runtimeRequestTimeoutMs,
      clock,
      log,
      metrics,
      signal,
    }),
    readMachine(),
    machineAddresses(flags, name, log),
  ]);
  const driver = await cgroupDriver(runtime, config, log);
  const cgroupScope = podCgroupsScope({ ...config, cgroupDriver: driver });
  const cgroupFs = await openDriver(driver, cgroupScope, clock);
  checkMachine(config, machine, cgroupFs.version, log);
  const timeline = new Timeline(() => clock.now());
  const logEvents = new LogEvents(log, (uid, what, detail) => timeline.note(uid, what, detail));
  const wake = (uid: string) => {
    volumes.poke(uid);
    void kubelet.dispatcher.submit(podUid(uid), { wake: true });
  };
  const cluster = await openClusterOf({
    flags,
    config,
    nodeName: name,
    architecture: machine.architecture,
    log,
    metrics,
    also: logEvents,
    wake,
    signal,
  });
  const events = cluster?.events ?? logEvents;
  const node = nodeReference(name, () => cluster?.nodeUid() ?? name);
  if (cgroupFs.version === 1) events.event(node, 'Warning', 'CgroupV1', CGROUP_V1_TEXT);

  const reservations = await nodeReservations(config);
  const capacity = nodeCapacity(machine, {
    ...(config.localStorageCapacityIsolation ? { ephemeralStorage: (await diskSpace(flags.rootDir)).capacity } : {}),
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
  });
  const allocatableResources = nodeAllocatable(capacity, reservations);
  const allocatable = toResourceList(allocatableResources);
  const nodeEvent = (type: 'Normal' | 'Warning', reason: string, message: string) => events.event(node, type, reason, message);
  const { managers, services: managerServices } = await openResourceManagers({
    config,
    rootDir: flags.rootDir,
    reservation: totalReservation(capacity, reservations),
    runtime: runtime.runtime,
    files,
    clock,
    log,
    registry,
    kubelet: () => kubelet,
  });
  const limits = podsLimits(machine, reservations, config.enforceNodeAllocatable);
  const cgroups = new PodCgroups(
    { ...cgroupOptions(config, driver, limits), ...qosReserve(config, machine, reservations) },
    {
      fs: cgroupFs,
      log,
      nodeEvent,
      hasExclusiveCpus: (pod) => managers.podHasExclusiveCpus(pod),
    },
  );
  // Before the first question about them: whether swap is accounted shows only below the root.
  await cgroups.setup();
  await enforceReservations(config, reservations, driver, clock, nodeEvent);
  const supportsStrictGroups = () => kubelet.runtimeState.status()?.features?.supplementalGroupsPolicy === true;
  const admissionNode = (): AdmissionNode =>
    cluster?.admissionNode({ allocatable, supportsStrictGroups: supportsStrictGroups() }) ?? {
      name,
      labels: {
        ...flags.nodeLabels,
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': machine.architecture,
      },
      taints: [],
      allocatable,
      supportsStrictGroups: supportsStrictGroups(),
    };
  const currentHostIPs = () => cluster?.hostIPs(hostIPs) ?? hostIPs;
  const podsDir = posix.join(flags.rootDir, 'pods');
  const { podLogsDir } = config;
  const objects = cluster?.objects;
  const status = () => kubelet.runtimeState.status();
  const handlers = await nodeHandlers({ config, rootDir: flags.rootDir, log, status, objects });
  const { runtimeHandlers, userNamespaces } = handlers;
  const { manager: volumes, stats: volumeStats } = await nodeVolumes({
    rootDir: flags.rootDir,
    allocatable,
    log,
    events,
    cluster,
    nodeLabels: () => admissionNode().labels,
    statsPeriodMs: config.volumeStatsAggPeriodMs,
    pods: () => kubelet.pods(),
    recursiveReadOnly: handlers.recursiveReadOnly,
  });
  const settings = nodeSettings(config, flags, machine, cgroupFs.version, await isSwapAccounted(cgroupFs, cgroupScope));
  const specs = new PodSpecs({
    node: settings,
    nodeName: name,
    hostIPs: currentHostIPs,
    allocatable: () => allocatable,
    podLogsDir,
    podsDir,
    clusterDomain: config.clusterDomain,
    clusterDNS: config.clusterDNS,
    resolvConf: config.resolvConf,
    cgroupParent: (pod) => cgroups.parentFor(pod),
    managers,
    images: runtime.images,
    volumes,
    runtimeHandlers,
    userNamespaces,
    ...(objects === undefined ? {} : { objects: objects.env, serviceEnv: (pod: Pod) => objects.services.serviceEnv(pod) }),
    files,
    random: systemRandom,
    events,
  });
  const images = await nodeImages({ flags, config, runtime, objects, events, metrics, log });
  const upkeep = nodeUpkeep({
    config,
    runtime,
    podLogsDir,
    log,
    events,
    node,
    metrics,
    imageRemoved: images.removed,
    imagesListed: images.listed,
  });
  const pressures = new NodePressures();
  const ports: KubeletPorts = {
    clock,
    random: systemRandom,
    files,
    log,
    events,
    timeline,
    metrics,
    runtime: runtime.runtime,
    runtimeName: runtime.version.runtimeName,
    images: images.manager,
    specs,
    ...nodeProbes(runtime.runtime, metrics, probeMetrics),
    cgroups,
    volumes,
    dirs: new PodDirectories({ files, log, podsDir, mountsBelow: async (path) => (await nodeMounts.below(path)).map((m) => m.mountPoint) }),
    userNamespaces,
    recursiveReadOnly: handlers.knownRecursiveReadOnly,
    upkeep: [
      ...managerServices,
      upkeep.logRotation,
      upkeep.imageGc,
      volumeStats,
      nodePlugins(flags.rootDir, { CSIPlugin: cluster?.csi.handler }, log),
    ],
    backOffKey: backoffKey,
    terminationMessage: (status) => terminationMessage(status, systemTailReader),
    admit: guarded(
      managers,
      await nodeAdmission({
        config,
        managers: [managers],
        kernelVersion: machine.kernelVersion,
        node: admissionNode,
        pressure: pressureCheck(() => pressures.list()),
        runtimeFeatures: () => kubelet.runtimeState.status()?.features,
      }),
    ),
    resize: nodeResize({ config, node: settings, cgroupFs, cgroups, stats: runtime.stats, registry }),
    ...(cluster === undefined
      ? {}
      : {
          cluster: await cluster.port({
            machine,
            runtime,
            capacity,
            allocatable: allocatableResources,
            pressures: () => pressures.flags(),
          }),
        }),
  };
  const options: KubeletOptions = {
    nodeName: name,
    get hostIPs() {
      return currentHostIPs();
    },
    rootDir: flags.rootDir,
    podLogsDir,
    podLogDir: (pod: Pod) => podLogsDirectory(podLogsDir, pod.metadata),
    // The links are for log collectors of the whole node: a node that keeps its pod logs elsewhere is not that.
    containerLogsDir: podLogsDir === DEFAULT_POD_LOGS_DIR ? CONTAINER_LOGS_DIR : posix.join(posix.dirname(podLogsDir), 'containers'),
    containerGc: {
      minAgeMs: flags.minimumContainerTTLDurationMs,
      maxPerContainer: flags.maximumDeadContainersPerContainer,
      maxTotal: flags.maximumDeadContainers,
    },
    syncFrequencyMs: config.syncFrequencyMs,
    maxContainerRestartPeriodMs: config.crashLoopBackOff.maxContainerRestartPeriodMs ?? 300_000,
    startSlots: Math.max(2, Math.round((machine.cpu / 1000) * SLOTS_PER_CPU)),
    useRuntimeEvents: true,
    sources: [...podSources(config, name, log, events), ...(cluster === undefined ? [] : [cluster.source])],
  };
  const kubelet: Kubelet = createKubelet(options, ports);
  const close = () => {
    cluster?.close();
    runtime.close();
  };
  const forServers = { cgroups, cgroupFs, api: cluster?.api, cluster, volumeStats, events, reference: node, pressures };
  const removeUnusedImages = (stop: AbortSignal) => upkeep.imageGc.removeUnused(stop);
  return { kubelet, nodeName: name, hostIPs, machine, runtime, ...forServers, removeUnusedImages, close };
}

/** The API client is loaded only where there is an API server. */
async function openClusterOf(input: ClusterInput): Promise<ClusterLink | undefined> {
  if (input.flags.kubeconfig === '') return undefined;
  const [{ openCluster }, { ensureKubeconfig }] = await Promise.all([import('./cluster.ts'), import('./certificates.ts')]);
  await ensureKubeconfig(input);
  return openCluster(input);
}

/** Contract flags-config §3: failCgroupV1 and failSwapOn refuse the start. */
function checkMachine(config: ResolvedConfig, machine: Machine, version: 1 | 2, log: Logger): void {
  if (version === 1) {
    if (config.failCgroupV1) {
      throw new Error(
        'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release; ' +
          'set failCgroupV1: false to run here all the same',
      );
    }
    log.warn(CGROUP_V1_TEXT);
  }
  if (config.failSwapOn && machine.swap > 0) {
    throw new Error('running with swap on is not supported, please disable swap or set --fail-swap-on flag to false');
  }
}
