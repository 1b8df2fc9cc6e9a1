import type { AdmissionNode } from '../admission/general-predicates.ts';
import type { Resources } from '../api/resources.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import type { ConnectedRuntime } from '../cri/connect.ts';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import type { Machine } from '../host/machine.ts';
import { nodeAddresses } from '../host/network.ts';
import { systemRandom } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { type ApiServerClients, connectApiServer } from '../kube/connect.ts';
import type { Credentials } from '../kube/credentials.ts';
import { ApiEvents } from '../kube/event-recorder.ts';
import { userAgent } from '../kube/http-client.ts';
import { KubeconfigError } from '../kube/kubeconfig.ts';
import type { Taint } from '../kube/types.ts';
import { type ClusterNodeServices, clusterNodeServices } from '../node/cluster-node.ts';
import type { ClusterPort } from '../node/cluster-port.ts';
import { declaredFeatures } from '../node/declared-features.ts';
import type { NodeFactsDeps } from '../node/facts.ts';
import { type NodeIdentity, nodeLabels, nodeTaints } from '../node/node-object.ts';
import { nodeReference } from '../node/node-reference.ts';
import { NodeWatch } from '../node/node-watch.ts';
import { ClusterObjects, type ClusterObjectsDeps } from '../objects/cluster-objects.ts';
import { objectTtlMs } from '../objects/object-ttl.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { MirrorPods } from '../pods/mirrors.ts';
import { CertificateTroubles } from '../security/certificate-troubles.ts';
import { PodCertificates } from '../security/pod-certificates.ts';
import { ApiServerSource } from '../sources/apiserver.ts';
import type { PodSource } from '../sources/types.ts';
import { givenNodeIPs } from './addresses.ts';
import { type NodeCsi, nodeCsi } from './csi.ts';
import { kubernetesVersion } from './version.ts';

export interface ClusterInput {
  flags: KubeletFlags;
  config: ResolvedConfig;
  nodeName: string;
  /** GOARCH spelling. */
  architecture: string;
  log: Logger;
  metrics: AgentMetrics;
  /** Gets every event as well. */
  also: EventRecorder;
  /** Ends the wait for a first certificate. */
  signal: AbortSignal;
  /** Has the pod of this UID looked at again. */
  wake(podUid: string): void;
}

/** What was found on this machine, for the node's status. */
export interface NodeInventory {
  machine: Machine;
  runtime: ConnectedRuntime;
  capacity: Resources;
  allocatable: Resources;
  /** Whether the node is short of something. */
  pressures: NonNullable<NodeFactsDeps['pressures']>;
}

/** The agent's side of a cluster. */
export interface ClusterLink {
  readonly api: KubeApi;
  readonly events: EventRecorder;
  readonly source: PodSource;
  /** What pods refer to by name. */
  readonly objects: ClusterObjects;
  readonly podCertificates: PodCertificates;
  readonly csi: NodeCsi;
  /** UID of the Node's object, empty while it is not known. */
  nodeUid(): string;
  /** What admission looks at: the Node's object, and as long as it is not known what it will be made with. */
  admissionNode(own: Pick<AdmissionNode, 'allocatable' | 'supportsStrictGroups'>): AdmissionNode;
  /** The addresses of pods on the host's network: the Node's, else `own`. */
  hostIPs(own: readonly string[]): readonly string[];
  /** Who the agent is to the API server. */
  readonly credentials: Credentials;
  /** What keeps certificates from being issued. */
  readonly certificateTroubles: CertificateTroubles;
  port(inventory: NodeInventory): Promise<ClusterPort>;
  close(): void;
}

/**
 * Reads the kubeconfig and builds what speaks to the API server; nothing is sent yet, so that a server that is away is
 * no error. Rejects when the kubeconfig cannot be used.
 */
export async function openCluster(input: ClusterInput): Promise<ClusterLink> {
  const { config, nodeName, log } = input;
  const clock = systemClock;
  const random = systemRandom;
  const clients = await connect(input);
  const watch = new NodeWatch({ api: clients.main, nodeName, clock, random, log });
  const events = new ApiEvents({ api: clients.events, nodeName, clock, random, log, also: input.also });
  const identity = nodeIdentity(input);
  const reference = nodeReference(nodeName, () => watch.uid());
  const certificateTroubles = new CertificateTroubles((reason, message) => events.event(reference, 'Warning', reason, message));
  // The addresses of the object are another run's before that; of a cloud's node they are the cloud's.
  let isReported = identity.cloudExternal;
  const objects = new ClusterObjects({
    api: clients.main,
    clock,
    random,
    log,
    strategy: objectStrategy(config.configMapAndSecretChangeDetectionStrategy),
    ttlMs: () => objectTtlMs(watch.current()?.metadata.annotations),
    syncFrequencyMs: config.syncFrequencyMs,
    appeared: (uid) => input.wake(uid),
  });
  const podCertificates = new PodCertificates({ api: clients.main, clock, random, events, nodeName, nodeUid: () => watch.liveUid() ?? '' });
  let nodeStatus: Pick<ClusterNodeServices, 'check' | 'poke'> | undefined;
  const csi = nodeCsi({
    api: clients.main,
    nodeName,
    rootDir: input.flags.rootDir,
    controllerAttaches: config.enableControllerAttachDetach,
    mutableLimits: config.gates.enabled('MutableCSINodeAllocatableCount'),
    watch,
    objects,
    events,
    log,
    metrics: input.metrics,
    wake: input.wake,
    initialized: () => nodeStatus?.check(),
    statusChanged: () => nodeStatus?.poke(),
  });
  watch.subscribe(() => csi.nodeKnown());
  const port = async (inventory: NodeInventory): Promise<ClusterPort> => {
    const observe = { ...(await observed(input, inventory)), furtherConditions: () => certificateTroubles.conditions() };
    return {
      api: clients.main,
      mirrors: new MirrorPods({ api: clients.main, log, nodeName, nodeUid: () => watch.liveUid() }),
      nodeUid: () => watch.uid(),
      objects,
      node: (runtimeSide) => {
        events.event(reference, 'Normal', 'Starting', 'Starting kubelet.');
        const node = clusterNodeServices(
          {
            api: clients.main,
            heartbeat: clients.heartbeat,
            reconnect: () => clients.reconnect(),
            watch,
            identity,
            clock,
            random,
            log,
            events,
            runtime: inventory.runtime.runtime,
            images: inventory.runtime.images,
            observe: { ...observe, otherFaults: () => csi.faults(), volumesInUse: () => csi.volumesInUse() },
            registerNode: config.registerNode,
            getOnExistsOnly: config.gates.enabled('KubeletRegistrationGetOnExistsOnly'),
            updateFrequencyMs: config.nodeStatusUpdateFrequencyMs,
            reportFrequencyMs: config.nodeStatusReportFrequencyMs,
            leaseDurationSeconds: config.nodeLeaseDurationSeconds,
          },
          runtimeSide,
        );
        void node.reported.then(() => {
          isReported = true;
        });
        nodeStatus = node;
        return { ...node, services: [events, ...node.services, ...csi.services] };
      },
    };
  };
  return {
    api: clients.main,
    events,
    objects,
    podCertificates,
    csi,
    source: new ApiServerSource({ api: clients.main, nodeName, clock, random, log, nodeKnown: (signal) => watch.known(signal) }),
    nodeUid: () => watch.uid(),
    admissionNode: ({ allocatable, supportsStrictGroups }) => {
      const node = watch.current();
      return {
        name: nodeName,
        labels: node === undefined ? nodeLabels(identity) : (node.metadata.labels ?? {}),
        taints: node === undefined ? nodeTaints(identity) : (node.spec?.taints ?? []),
        // Of the machine's own resources the machine knows best; the others stand in the object.
        allocatable: { ...node?.status?.allocatable, ...allocatable },
        supportsStrictGroups,
      };
    },
    hostIPs: (own) => {
      const there = (isReported ? (watch.current()?.status?.addresses ?? []) : [])
        .filter((a) => a.type === 'InternalIP')
        .map((a) => a.address);
      return there.length === 0 ? own : there;
    },
    port,
    credentials: clients.credentials,
    certificateTroubles,
    close: () => clients.close(),
  };
}

/** Contract flags-config.md §8. */
async function connect({ flags, config, log }: ClusterInput): Promise<ApiServerClients> {
  try {
    return await connectApiServer({
      kubeconfig: flags.kubeconfig,
      userAgent: userAgent(kubernetesVersion, ''),
      qps: config.kubeAPIQPS,
      burst: config.kubeAPIBurst,
      eventQps: config.eventRecordQPS,
      eventBurst: config.eventBurst,
      heartbeatTimeoutMs: Math.min(config.nodeStatusUpdateFrequencyMs, config.nodeLeaseDurationSeconds * 1000),
      files: nodeFiles,
      clock: systemClock,
      log,
    });
  } catch (err) {
    if (!(err instanceof KubeconfigError)) throw err;
    throw new Error(`--kubeconfig: ${err.message}`, { cause: err });
  }
}

function nodeIdentity({ flags, config, nodeName, architecture }: ClusterInput): NodeIdentity {
  return {
    name: nodeName,
    hostname: nodeName,
    architecture,
    labels: flags.nodeLabels,
    registerWithTaints: config.registerWithTaints.map(({ key, value, effect }) => ({
      key,
      ...(value === undefined || value === '' ? {} : { value }),
      effect: effect as Taint['effect'],
    })),
    providerID: config.providerID,
    cloudExternal: flags.cloudProvider === 'external',
    enableControllerAttachDetach: config.enableControllerAttachDetach,
  };
}

function objectStrategy(text: string): ClusterObjectsDeps['strategy'] {
  return text === 'Get' || text === 'Cache' ? text : 'Watch';
}

/** What the node's status shows of machine and configuration. */
async function observed({ flags, config, nodeName }: ClusterInput, inventory: NodeInventory): Promise<NodeObservation> {
  const { machine, runtime, capacity, allocatable } = inventory;
  const { gates } = config;
  const nodeIPs = givenNodeIPs(flags);
  const inUserNamespace = gates.enabled('KubeletInUserNamespace') ? await runningInUserNamespace() : undefined;
  const features = await runtime.runtime.status().then(
    (status) => status.features,
    () => undefined,
  );
  return {
    runtimeName: runtime.version.runtimeName,
    nodeInfo: {
      machineID: machine.machineId,
      systemUUID: machine.systemUuid,
      bootID: machine.bootId,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      containerRuntimeVersion: '',
      kubeletVersion: kubernetesVersion,
      kubeProxyVersion: gates.enabled('DisableNodeKubeProxyVersion') ? '' : kubernetesVersion,
      operatingSystem: 'linux',
      architecture: machine.architecture,
      ...(gates.enabled('NodeSwap') && machine.swap > 0 ? { swap: { capacity: machine.swap } } : {}),
      ...(inUserNamespace === undefined ? {} : { runningInUserNamespace: inUserNamespace }),
    },
    capacity,
    allocatable,
    localStorageCapacityIsolation: config.localStorageCapacityIsolation,
    kubeletPort: config.port,
    maxImages: config.nodeStatusMaxImages,
    declaredFeatures: declaredFeatures(gates, features),
    showGroupsPolicy: gates.enabled('SupplementalGroupsPolicy'),
    showHandlers: gates.enabled('RecursiveReadOnlyMounts') || gates.enabled('UserNamespacesSupport'),
    nodeIPs,
    addresses: () => nodeAddresses({ nodeIps: nodeIPs, hostname: nodeName }),
    pressures: inventory.pressures,
  };
}

type NodeObservation = Omit<NodeFactsDeps, 'identity' | 'clock' | 'log' | 'runtime' | 'images' | 'runtimeState' | 'relist'>;

/** Undefined when the kernel does not tell. The initial namespace maps every id onto itself. */
async function runningInUserNamespace(): Promise<boolean | undefined> {
  const text = await nodeFiles.read('/proc/self/uid_map').catch(() => undefined);
  return text === undefined ? undefined : !/^\s*0\s+0\s+4294967295\s*$/.test(text.toString('utf8'));
}
