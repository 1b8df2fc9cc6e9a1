import type { Clock } from '../../host/clock.ts';
import type { Node, VolumeAttachment } from '../../kube/types.ts';
import { VolumeError } from '../volume-error.ts';
import type { CsiObjects } from './csi-objects.ts';
import { attachmentName, uniqueVolumeName } from './names.ts';
import type { StringMap } from './node-client.ts';
import type { StagedVolume } from './staged-volumes.ts';

/** How long one try waits: changes of the Node are seen at once. */
const WaitMs = 20_000;

/** The node's own object, as the API server has it. */
export interface OwnNode {
  current(): Node | undefined;
  /** Calls `listener` at each change; the result ends that. */
  subscribe(listener: () => void): () => void;
}

export interface AttachmentsDeps {
  objects: Pick<CsiObjects, 'driver' | 'attachment'>;
  node: OwnNode;
  nodeName: string;
  clock: Clock;
  /** enableControllerAttachDetach */
  controllerAttaches: boolean;
}

/** Waits for volumes to be attached to the node by the control plane: the agent attaches none (contract node.md §10). */
export class Attachments {
  readonly #deps: AttachmentsDeps;

  constructor(deps: AttachmentsDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when the volume is attached, with what the attacher says to the driver; undefined for a driver whose volumes are not
   * attached. Rejects when that is not so within a while, or cannot be. The volume stands in the Node's volumesInUse first:
   * from then on nobody detaches it.
   */
  async publishContext({ driver, handle }: Pick<StagedVolume, 'driver' | 'handle'>, signal: AbortSignal): Promise<StringMap | undefined> {
    const { objects, controllerAttaches, nodeName } = this.#deps;
    const spec = await objects.driver(driver);
    if (spec?.attachRequired === false) return undefined;
    if (!controllerAttaches) {
      throw new VolumeError('unsupported', 'attaching volumes from the kubelet is not supported: set enableControllerAttachDetach');
    }
    await this.#attached(uniqueVolumeName(driver, handle), signal);
    const name = attachmentName(handle, driver, nodeName);
    return attachmentMetadata(await objects.attachment(name), name, handle);
  }

  async #attached(volume: string, signal: AbortSignal): Promise<void> {
    const { node, clock } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (attachFault(node.current(), volume) === undefined) resolve();
    };
    const end = node.subscribe(look);
    const over = new AbortController();
    try {
      look();
      await Promise.race([promise, clock.sleep(WaitMs, AbortSignal.any([signal, over.signal])).catch(() => {})]);
      signal.throwIfAborted();
      const fault = attachFault(node.current(), volume);
      if (fault !== undefined) throw new VolumeError('host', fault);
    } finally {
      over.abort();
      end();
    }
  }
}

/** Why a volume cannot be used yet, as the Node's status shows it. Texts: the real kubelet's. */
export function attachFault(node: Node | undefined, volume: string): string | undefined {
  const { volumesInUse = [], volumesAttached = [] } = node?.status ?? {};
  if (!volumesInUse.includes(volume)) return "Volume has not been added to the list of VolumesInUse in the node's volume status";
  if (!volumesAttached.some(({ name }) => name === volume)) return 'Volume not attached according to node status';
  return undefined;
}

/** Throws VolumeError when the attachment is not there, not done or on its way out. Texts: the real kubelet's. */
export function attachmentMetadata(attachment: VolumeAttachment | undefined, name: string, handle: string): StringMap {
  if (attachment === undefined) {
    throw new VolumeError('host', `volumeattachments.storage.k8s.io ${JSON.stringify(name)} not found`);
  }
  if (attachment.metadata.deletionTimestamp) throw new VolumeError('host', 'volume attachment is being deleted');
  const { attached = false, attachError, attachmentMetadata: metadata = {} } = attachment.status ?? {};
  if (attached) return metadata;
  if (attachError?.message) throw new VolumeError('host', attachError.message);
  throw new VolumeError('host', `volume ${handle} is not attached for volume attachment ${name}`);
}
