import type { Quantity } from '../../api/quantity.ts';
import { timeFromMs } from '../../api/time.ts';
import type { Clock } from '../../host/clock.ts';
import { Turns } from '../../host/turns.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../kube/types.ts';
import { podEventObject } from '../../observe/event-object.ts';
import type { EventRecorder } from '../../observe/events.ts';
import type { Logger } from '../../observe/log.ts';
import { isGrpcError } from '../../proto/unix-client.ts';
import type { VolumeContext } from '../plugin.ts';
import { textOf, VolumeError } from '../volume-error.ts';
import { failureKind, isInfeasible } from './csi-error.ts';
import type { CsiObjects } from './csi-objects.ts';
import type { CsiClients } from './drivers.ts';
import { expansionStep, failedPatch, finishedPatch, inProgressPatch } from './expansion.ts';
import type { CsiNodeClient, StringMap } from './node-client.ts';
import { secretOf } from './publish.ts';
import type { CsiVolume } from './source.ts';
import { keyOf } from './staged-volumes.ts';

/** Claims and PersistentVolumes as they are now. */
export interface ClaimStatuses {
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined>;
  persistentVolume(name: string): Promise<PersistentVolume | undefined>;
  patchClaimStatus(namespace: string, name: string, patch: object): Promise<PersistentVolumeClaim>;
}

export interface ExpanderDeps {
  clients: CsiClients;
  objects: Pick<CsiObjects, 'secret'>;
  claims: ClaimStatuses;
  events: EventRecorder;
  clock: Clock;
  log: Logger;
}

/** Where the driver finds the volume. */
export interface ExpandedAt {
  volumePath: string;
  stagingPath: string;
  isBlock: boolean;
}

/** Makes the node's part of the growth of a volume, and tells the claim. */
export class VolumeExpander {
  readonly #deps: ExpanderDeps;
  /** The capacity of the PersistentVolume that needs nothing more on this node, by volume. */
  readonly #settled = new Map<string, string>();
  readonly #turns = new Turns();

  constructor(deps: ExpanderDeps) {
    this.#deps = deps;
  }

  /** Looks, and expands. Rejects when the volume should be larger and is not. One at a time for each volume. */
  expand(context: VolumeContext, volume: CsiVolume, at: ExpandedAt): Promise<void> {
    return this.#turns.run(keyOf(volume), () => this.#look(context, volume, at));
  }

  async #look(context: VolumeContext, volume: CsiVolume, at: ExpandedAt): Promise<void> {
    const { claims } = this.#deps;
    if (context.persistent === undefined) return;
    const { namespace, name, uid } = context.persistent.claim;
    const pv = await claims.persistentVolume(context.persistent.pv.metadata.name);
    const capacity = String(pv?.spec.capacity?.['storage'] ?? '');
    if (pv === undefined || this.#settled.get(keyOf(volume)) === capacity) return;
    const claim = await claims.claim(namespace, name);
    if (claim === undefined || claim.metadata.uid !== uid) return;
    const step = expansionStep(pv, claim, volume.readOnly);
    if (step.kind === 'read-only') {
      const text = `MountVolume.NodeExpandVolume failed for volume ${JSON.stringify(volume.name)} requested read-only file system`;
      this.#tell(context, claim, 'Warning', 'FileSystemResizeFailed', text);
    }
    if (step.kind === 'expand') await this.#expand(context, volume, at, claim, step);
    this.#settled.set(keyOf(volume), capacity);
  }

  async #expand(
    context: VolumeContext,
    volume: CsiVolume,
    at: ExpandedAt,
    before: PersistentVolumeClaim,
    { size, isTracked }: { size: Quantity; isTracked: boolean },
  ): Promise<void> {
    const { clients, objects, claims, clock, log } = this.#deps;
    const { namespace = '', name } = before.metadata;
    using client = clients.open(volume.driver);
    if (!(await client.supports('EXPAND_VOLUME'))) {
      log.debug(2, 'The CSI driver expands no volumes on the node', { driver: volume.driver, volume: volume.name });
      return;
    }
    const secrets = await secretOf(objects, volume.expandSecret, 'NodeExpandSecretRef');
    const claim = isTracked ? await claims.patchClaimStatus(namespace, name, inProgressPatch(before)) : before;
    try {
      await this.#call(client, volume, at, size, secrets);
    } catch (err) {
      if (failureKind(err) === 'final' && isTracked) {
        const patch = failedPatch(textOf(err), isInfeasible(err), timeFromMs(clock.now()));
        await claims
          .patchClaimStatus(namespace, name, patch)
          .catch((cause: unknown) => log.error(cause, 'Failed to tell the claim of its expansion'));
      }
      // The driver does not do it while the volume is in use: that is no reason to keep the pod waiting.
      if (isGrpcError(err, 'FailedPrecondition')) {
        log.error(err, 'The volume is not expanded while it is in use', { volume: volume.name });
        return;
      }
      throw new VolumeError('host', `NodeExpandVolume failed to expand the volume : ${textOf(err)}`, err);
    }
    const node = context.pod.spec.nodeName ?? '';
    const text = `MountVolume.NodeExpandVolume succeeded for volume ${JSON.stringify(volume.name)} ${node}`;
    this.#tell(context, claim, 'Normal', 'FileSystemResizeSuccessful', text);
    await claims.patchClaimStatus(namespace, name, finishedPatch(claim, size));
  }

  async #call(client: CsiNodeClient, volume: CsiVolume, at: ExpandedAt, size: Quantity, secrets: StringMap): Promise<void> {
    const { handle, fsType, mountOptions, accessMode } = volume;
    await client.expand({
      volumeId: handle,
      volumePath: at.volumePath,
      stagingPath: (await client.supports('STAGE_UNSTAGE_VOLUME')) ? at.stagingPath : undefined,
      size: size.value(),
      secrets,
      access: at.isBlock ? 'block' : { fsType, mountFlags: mountOptions },
      accessMode,
    });
  }

  #tell({ pod }: VolumeContext, claim: PersistentVolumeClaim, type: 'Normal' | 'Warning', reason: string, text: string): void {
    const { events } = this.#deps;
    events.event(podEventObject(pod), type, reason, text);
    const { metadata } = claim;
    events.event(
      {
        kind: 'PersistentVolumeClaim',
        namespace: metadata.namespace ?? pod.metadata.namespace,
        name: metadata.name,
        uid: metadata.uid ?? '',
      },
      type,
      reason,
      text,
    );
  }
}
