import type { Clock } from '../../host/clock.ts';
import { Pause } from '../../host/pause.ts';
import { Turns } from '../../host/turns.ts';
import type { KubeApi } from '../../kube/api.ts';
import { isKubeError, unlessNotFound } from '../../kube/errors.ts';
import { createCsiNode, deleteCsiNode, getCsiNode, getNode, patchNodeStatus, updateCsiNode } from '../../kube/typed.ts';
import type { CSINode, Node } from '../../kube/types.ts';
import type { Logger } from '../../observe/log.ts';
import type { Health, Service } from '../../observe/service.ts';
import {
  isOwnedBy,
  NodeIdAnnotation,
  newCsiNode,
  nodeIdAnnotation,
  topologyLabels,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from './csi-node.ts';
import type { NodeInfo } from './node-client.ts';

/** Between the tries of one write; as the real kubelet. */
const RetriesMs: readonly number[] = [10, 50, 250];
/** Between the tries to make the CSINode. */
const FirstInitMs = 100;
const MaxInitMs = 7_000;
const CallMs = 30_000;

export interface NodePublisherDeps {
  api: KubeApi;
  nodeName: string;
  clock: Clock;
  log: Logger;
  /** The CSINode is there: the node may be ready. */
  initialized(): void;
}

/**
 * Tells the cluster of the CSI drivers on this node: the CSINode, and the Node's annotation and topology labels. Writes come
 * one after another.
 */
export class CsiNodePublisher implements Service {
  readonly name = 'csi-node';
  readonly #deps: NodePublisherDeps;
  readonly #turns = new Turns();
  readonly #pause: Pause;
  readonly #done = Promise.withResolvers<void>();
  #fault: string | undefined = 'CSINode is not yet initialized';
  #tried = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: NodePublisherDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    this.#loop = this.#initialize(signal);
  }

  ready(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** The Node's object is there, or has changed. */
  nodeKnown(): void {
    if (this.#fault !== undefined) this.#pause.poke();
  }

  /**
   * Why the node is not ready for lack of its CSINode; undefined once it was there, and until the first try has ended: an
   * agent that starts again on a node that is ready must not show it as anything else.
   */
  fault(): string | undefined {
    return this.#tried ? this.#fault : undefined;
  }

  /** Makes the node's CSINode, or takes the one that is there. Tries until it has worked once. */
  async #initialize(signal: AbortSignal): Promise<void> {
    const { log, nodeName } = this.#deps;
    for (let wait = FirstInitMs; !signal.aborted; wait = Math.min(wait * 2, MaxInitMs)) {
      try {
        await this.#turns.run(this.#deps.nodeName, async () => {
          const csiNode = await this.#ownCsiNode(await this.#node(signal), signal);
          const wanted = withMigratedPlugins(csiNode);
          if (wanted !== csiNode) await updateCsiNode(this.#deps.api, wanted, { signal, timeoutMs: CallMs });
        });
        this.#fault = undefined;
        this.#done.resolve();
        this.#deps.initialized();
        return;
      } catch (err) {
        if (signal.aborted) return;
        this.#tried = true;
        this.#fault = `failed to initialize CSINode: ${err instanceof Error ? err.message : String(err)}`;
        // The Node is not registered yet, or nobody answers: it is tried soon again.
        log.debug(2, 'Failed to initialize CSINode, will retry', { node: nodeName, err });
      }
      await this.#pause.wait(wait, signal);
    }
  }

  /** Enters a driver. Rejects when the driver's answer cannot be used or the API server does not take it. */
  async install(driver: string, info: NodeInfo, signal?: AbortSignal): Promise<void> {
    if (info.nodeId === '') throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
    await this.#written('error updating Node object with CSI driver node info: error updating node', async () => {
      const node = await this.#node(signal);
      const annotation = nodeIdAnnotation(node.metadata.annotations?.[NodeIdAnnotation], driver, info.nodeId);
      await this.#patchNode(node, annotation, topologyLabels(node.metadata.labels, info.topology), signal);
    });
    await this.update(driver, info, signal);
  }

  /** Brings the driver's entry in the CSINode up to date. */
  async update(driver: string, info: NodeInfo, signal?: AbortSignal): Promise<void> {
    await this.#written('error updating CSINode object with CSI driver node info: error updating CSINode', async () => {
      const csiNode = await this.#ownCsiNode(await this.#node(signal), signal);
      const wanted = withDriver(withMigratedPlugins(csiNode), driver, info);
      if (wanted !== csiNode) await updateCsiNode(this.#deps.api, wanted, { signal, timeoutMs: CallMs });
    });
  }

  /** Takes a driver out. Topology labels stay: other drivers and volumes may go by them. */
  async uninstall(driver: string): Promise<void> {
    const { api, nodeName } = this.#deps;
    const o = { timeoutMs: CallMs };
    await this.#written('error uninstalling CSI driver from CSINode object', async () => {
      const csiNode = await unlessNotFound(getCsiNode(api, nodeName, o));
      const wanted = csiNode && withoutDriver(csiNode, driver);
      if (wanted !== undefined && wanted !== csiNode) await updateCsiNode(api, wanted, o);
    });
    await this.#written('error removing CSI driver node info from Node object', async () => {
      const node = await unlessNotFound(getNode(api, nodeName, o));
      if (node === undefined) return;
      await this.#patchNode(node, nodeIdAnnotation(node.metadata.annotations?.[NodeIdAnnotation], driver, undefined), {});
    });
  }

  #node(signal?: AbortSignal): Promise<Node> {
    return getNode(this.#deps.api, this.#deps.nodeName, { signal, timeoutMs: CallMs });
  }

  async #patchNode(node: Node, annotation: string | null | undefined, labels: object, signal?: AbortSignal): Promise<void> {
    if (annotation === undefined && Object.keys(labels).length === 0) return;
    const annotations = annotation === undefined ? {} : { annotations: { [NodeIdAnnotation]: annotation } };
    const { api, nodeName } = this.#deps;
    await patchNodeStatus(api, nodeName, { metadata: { uid: node.metadata.uid, ...annotations, labels } }, { signal, timeoutMs: CallMs });
  }

  /** One that belongs to another node of this name is removed, and the call rejects: the next try makes a new one. */
  async #ownCsiNode(node: Node, signal?: AbortSignal): Promise<CSINode> {
    const { api, nodeName, log } = this.#deps;
    const o = { signal, timeoutMs: CallMs };
    const uid = node.metadata.uid ?? '';
    const csiNode = await unlessNotFound(getCsiNode(api, nodeName, o));
    if (csiNode === undefined) return createCsiNode(api, newCsiNode(nodeName, uid), o);
    if (isOwnedBy(csiNode, nodeName, uid)) return csiNode;
    log.debug(2, 'The existing CSINode is of another node, removing it', { node: nodeName, nodeUID: uid });
    await deleteCsiNode(api, nodeName, o);
    throw new Error(`CSINode ${JSON.stringify(nodeName)} was owned by different node, deleted it`);
  }

  /** Tried a few times: others write the same objects. */
  #written(what: string, work: () => Promise<void>): Promise<void> {
    return this.#turns.run(this.#deps.nodeName, async () => {
      for (const wait of [...RetriesMs, undefined]) {
        try {
          return await work();
        } catch (err) {
          if (wait === undefined || isKubeError(err, 'Canceled')) {
            throw new Error(`${what}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
          }
          await this.#deps.clock.sleep(wait);
        }
      }
    });
  }
}
