import { formatDurationMs } from '../api/duration.ts';
import type { Resources } from '../api/resources.ts';
import { timeFromMs } from '../api/time.ts';
import type { CriImages, CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { NodeStatus, NodeSystemInfo } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { ConditionFacts, Pressure } from './conditions.ts';
import type { NodeIdentity } from './node-object.ts';
import type { RuntimeState } from './runtime-state.ts';
import { shownVersion } from './runtime-version.ts';
import type { DeviceResources, NodeFacts } from './status.ts';
import { reportedImages } from './status-images.ts';

/** Contract pod-lifecycle §15. */
const PlegThresholdMs = 180_000;
/** As the real kubelet's image cache. */
const ImagesForMs = 30_000;
const VersionForMs = 10_000;
/** A runtime that hangs must not hold up the status that says so. */
const CallTimeoutMs = 3_000;

export interface NodeFactsDeps {
  identity: NodeIdentity;
  clock: Clock;
  log: Logger;
  runtime: Pick<CriRuntime, 'version'>;
  images: Pick<CriImages, 'listImages'>;
  runtimeState: Pick<RuntimeState, 'faults' | 'status'>;
  /** When the last complete list of the runtime was asked for. */
  relist: { listedAt(): number | undefined };
  runtimeName: string;
  /** All but the runtime's version. */
  nodeInfo: NodeSystemInfo;
  capacity: Resources;
  allocatable: Resources;
  localStorageCapacityIsolation: boolean;
  kubeletPort: number;
  maxImages: number;
  declaredFeatures: readonly string[] | undefined;
  /** Feature gate SupplementalGroupsPolicy. */
  showGroupsPolicy: boolean;
  /** Feature gates RecursiveReadOnlyMounts or UserNamespacesSupport. */
  showHandlers: boolean;
  /** --node-ip */
  nodeIPs: readonly string[];
  /** Those of the machine, primary first; rejects when --node-ip is none of them. */
  addresses(): Promise<readonly string[]>;
  devices?(): DeviceResources;
  pressures?(): Readonly<Record<Pressure, boolean>>;
  /** Conditions of the agent's own, as they are now. */
  furtherConditions?(): ConditionFacts['further'];
  /** Other reasons for which the node is not ready: storage, shutdown; in this order. */
  otherFaults?(): readonly string[];
  volumesInUse?(): readonly string[] | undefined;
}

const noPressures: Readonly<Record<Pressure, boolean>> = { MemoryPressure: false, DiskPressure: false, PIDPressure: false };

/** Observes the machine and the runtime for the node's status. */
export class NodeFactsReader {
  readonly #deps: NodeFactsDeps;
  #images: { at: number; images: NodeStatus['images'] } | undefined;
  #version: { at: number; text: string } | undefined;
  #addressFault = '';

  constructor(deps: NodeFactsDeps) {
    this.#deps = deps;
  }

  /** What keeps the node from being Ready, most basic first; from memory. */
  notReady(): string[] {
    const { runtimeState, otherFaults } = this.#deps;
    const { answers, runtime, network } = runtimeState.faults();
    return [...answers, ...this.#pleg(), ...runtime, ...network, ...(otherFaults?.() ?? [])];
  }

  async facts(signal: AbortSignal): Promise<NodeFacts> {
    const { identity, clock, runtimeState, nodeIPs, declaredFeatures } = this.#deps;
    const [foundIPs, images, containerRuntimeVersion] = await Promise.all([
      this.#addresses(),
      this.#reportedImages(signal),
      this.#runtimeVersion(signal),
    ]);
    const status = runtimeState.status();
    const supplementalGroupsPolicy = status?.features?.supplementalGroupsPolicy;
    return {
      nodeName: identity.name,
      hostname: identity.hostname,
      at: timeFromMs(clock.now()),
      pressures: this.#deps.pressures?.() ?? noPressures,
      notReady: this.notReady(),
      further: this.#deps.furtherConditions?.(),
      givenIPs: nodeIPs.filter((ip) => !isUnspecified(ip)),
      nodeIPGiven: nodeIPs.length > 0,
      foundIPs,
      cloudExternal: identity.cloudExternal,
      capacity: this.#deps.capacity,
      allocatable: this.#deps.allocatable,
      devices: this.#deps.devices?.(),
      localStorageCapacityIsolation: this.#deps.localStorageCapacityIsolation,
      nodeInfo: { ...this.#deps.nodeInfo, containerRuntimeVersion },
      kubeletPort: this.#deps.kubeletPort,
      images,
      runtimeHandlers: this.#deps.showHandlers ? (status?.runtimeHandlers ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)) : [],
      features: this.#deps.showGroupsPolicy && supplementalGroupsPolicy !== undefined ? { supplementalGroupsPolicy } : undefined,
      declaredFeatures,
      volumesInUse: this.#deps.volumesInUse?.(),
    };
  }

  #pleg(): string[] {
    const { relist, clock } = this.#deps;
    const at = relist.listedAt();
    if (at === undefined) return ['PLEG is not healthy: pleg has yet to be successful'];
    const age = clock.monotonic() - at;
    if (age <= PlegThresholdMs) return [];
    return [`PLEG is not healthy: pleg was last seen active ${formatDurationMs(Math.round(age))} ago; threshold is 3m0s`];
  }

  /** Empty when they cannot be told. */
  async #addresses(): Promise<readonly string[]> {
    const { addresses, log } = this.#deps;
    try {
      const found = await addresses();
      this.#addressFault = '';
      return found;
    } catch (err) {
      const fault = err instanceof Error ? err.message : String(err);
      if (fault !== this.#addressFault) log.error(err, 'Failed to set some node status fields');
      this.#addressFault = fault;
      return [];
    }
  }

  async #reportedImages(signal: AbortSignal): Promise<NodeStatus['images']> {
    const { clock, images, log, maxImages } = this.#deps;
    const now = clock.monotonic();
    if (this.#images !== undefined && now - this.#images.at < ImagesForMs) return this.#images.images;
    try {
      const found = await images.listImages({ signal, timeoutMs: CallTimeoutMs });
      this.#images = { at: now, images: reportedImages(found, maxImages) };
    } catch (err) {
      if (!signal.aborted) log.debug(2, 'The images of the node cannot be listed, those known stay', { err });
    }
    return this.#images?.images;
  }

  async #runtimeVersion(signal: AbortSignal): Promise<string> {
    const { clock, runtime, runtimeName } = this.#deps;
    const now = clock.monotonic();
    if (this.#version === undefined || now - this.#version.at >= VersionForMs) {
      const version = await runtime.version({ signal, timeoutMs: CallTimeoutMs }).catch(() => undefined);
      if (version === undefined) this.#version = undefined;
      else this.#version = { at: now, text: shownVersion(version.runtimeVersion) };
    }
    return `${runtimeName}://${this.#version?.text ?? 'Unknown'}`;
  }
}

function isUnspecified(ip: string): boolean {
  return ip === '0.0.0.0' || ip === '::';
}
