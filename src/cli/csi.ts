import { timeFromMs } from '../api/time.ts';
import { systemClock } from '../host/clock.ts';
import { FileThreads } from '../host/file-threads/file-threads.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeLoops } from '../host/loop-devices.ts';
import { nodeMounts } from '../host/mounts.ts';
import { systemRandom } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { patchClaimStatus } from '../kube/typed.ts';
import type { NodeWatch } from '../node/node-watch.ts';
import type { ClusterObjects } from '../objects/cluster-objects.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Service } from '../observe/service.ts';
import { CsiLimits } from '../plugins/csi-limits.ts';
import { CsiPlugin } from '../plugins/csi-plugin.ts';
import type { PluginHandler } from '../plugins/plugin-handler.ts';
import { Attachments, type OwnNode } from '../volumes/csi/attach.ts';
import { ApiCsiObjects } from '../volumes/csi/csi-objects.ts';
import { CsiVolumePlugin } from '../volumes/csi/csi-volumes.ts';
import { CsiDrivers } from '../volumes/csi/drivers.ts';
import { VolumeExpander } from '../volumes/csi/expander.ts';
import { CsiNodePublisher } from '../volumes/csi/node-publisher.ts';
import { CsiOnDisk } from '../volumes/csi/on-disk.ts';
import type { DriverTokens } from '../volumes/csi/publish.ts';
import { StagedVolumes } from '../volumes/csi/staged-volumes.ts';
import { CsiVolumesService } from '../volumes/csi/volumes-service.ts';
import { giveToGroup } from '../volumes/ownership.ts';
import type { VolumePlugin } from '../volumes/plugin.ts';

export interface NodeCsiInput {
  api: KubeApi;
  nodeName: string;
  rootDir: string;
  /** enableControllerAttachDetach */
  controllerAttaches: boolean;
  /** Feature gate MutableCSINodeAllocatableCount. */
  mutableLimits: boolean;
  watch: NodeWatch;
  objects: ClusterObjects;
  events: EventRecorder;
  log: Logger;
  metrics: AgentMetrics;
  /** What a pod waited for is there. */
  wake(podUid: string): void;
  /** The node may be ready now. */
  initialized(): void;
  /** The node's status is to be written now. */
  statusChanged(): void;
}

/** CSI on this node; only nodes of a cluster have it. */
export interface NodeCsi {
  /** Takes drivers in. */
  readonly handler: PluginHandler;
  readonly plugin: VolumePlugin;
  /** In start order. */
  readonly services: readonly Service[];
  /** Why the node is not ready. */
  faults(): string[];
  /** For the node's status; undefined until the volumes of an earlier run are known. */
  volumesInUse(): readonly string[] | undefined;
  nodeKnown(): void;
}

export function nodeCsi(input: NodeCsiInput): NodeCsi {
  const { api, nodeName, rootDir, controllerAttaches, mutableLimits, watch, events, log, metrics, initialized, statusChanged } = input;
  const clock = systemClock;
  const files = nodeFiles;
  const longFiles = new FileThreads(clock);
  const drivers = new CsiDrivers(clock, { called: (...call) => metrics.csiCalled(...call) });
  const publisher = new CsiNodePublisher({ api, nodeName, clock, log, initialized });
  const objects = new ApiCsiObjects({ api, clock, random: systemRandom, log });
  const disk = new CsiOnDisk(files, rootDir);
  const staged = new StagedVolumes({
    clock,
    log,
    isUsedOnDisk: (volume) => disk.isUsed(volume),
    unstage: (volume) => plugin.unstage(volume),
    changed: statusChanged,
  });
  const plugin: CsiVolumePlugin = new CsiVolumePlugin({
    rootDir,
    nodeName,
    files,
    mounts: nodeMounts,
    mounter: nodeMounts,
    loops: nodeLoops,
    log,
    events,
    clients: drivers,
    objects,
    tokens: driverTokens(input.objects),
    attachments: new Attachments({ objects, node: ownNode(watch), nodeName, clock, controllerAttaches }),
    staged,
    wake: input.wake,
    giveToGroup: (context, path) => giveToGroup({ clock, longFiles, events }, context, path, false),
    expander: new VolumeExpander({
      clients: drivers,
      objects,
      claims: {
        claim: (namespace, name) => input.objects.claim(namespace, name),
        persistentVolume: (name) => input.objects.persistentVolume(name),
        patchClaimStatus: (namespace, name, patch) => patchClaimStatus(api, namespace, name, patch),
      },
      events,
      clock,
      log,
    }),
  });
  const volumes = new CsiVolumesService({ disk, staged, objects, clock, log, changed: statusChanged });
  const limits = new CsiLimits({
    clock,
    log,
    drivers: () => drivers.names(),
    periodSeconds: async (driver) => (await objects.driver(driver))?.nodeAllocatableUpdatePeriodSeconds,
    ask: async (driver, signal) => {
      using client = drivers.open(driver);
      return await client.getInfo(signal);
    },
    publish: (driver, info, signal) => publisher.update(driver, info, signal),
  });
  return {
    handler: new CsiPlugin({ drivers, publisher, log, changed: (driver) => plugin.driverChanged(driver) }),
    plugin,
    services: [publisher, volumes, ...(mutableLimits ? [limits] : [])],
    faults: () => [publisher.fault()].filter((fault) => fault !== undefined),
    volumesInUse: () => volumes.inUse(),
    nodeKnown: () => publisher.nodeKnown(),
  };
}

function ownNode(watch: NodeWatch): OwnNode {
  const listeners = new Set<() => void>();
  watch.subscribe(() => {
    for (const listener of listeners) listener();
  });
  return {
    current: () => watch.current(),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function driverTokens(objects: ClusterObjects): DriverTokens {
  return {
    async driverToken(pod, request) {
      const { token, expiresAt } = await objects.podToken(pod, request);
      return { token, expirationTimestamp: timeFromMs(expiresAt) };
    },
  };
}
