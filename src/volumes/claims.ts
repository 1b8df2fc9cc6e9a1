import { matchesNodeSelector } from '../api/node-affinity.ts';
import type { Pod, StringMap, Volume } from '../api/types.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../kube/types.ts';
import type { VolumeObjects } from './ports.ts';
import { isClaim, plainVolume, type ResolvedVolume, usesOf } from './resolved-volume.ts';
import { sourceOf, textField } from './source-fields.ts';
import { textOf, VolumeError } from './volume-error.ts';

/** The fields of a PersistentVolume's spec that are no source. */
const NoSources: ReadonlySet<string> = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);
const MountOptionsAnnotation = 'volume.beta.kubernetes.io/mount-options';
const GroupAnnotation = 'pv.beta.kubernetes.io/gid';

export interface ClaimDeps {
  /** Absent on a node without an API server. */
  objects: Pick<VolumeObjects, 'claim' | 'persistentVolume'> | undefined;
  /** Labels of the Node's object. */
  nodeLabels(): StringMap;
}

/**
 * The volume with its claim looked up. Rejects with VolumeError (`unresolved`) when the claim is not there, not bound, another
 * pod's, or of a form that the pod's containers cannot use. Texts: the real kubelet's.
 */
export async function resolveVolume(deps: ClaimDeps, pod: Pod, volume: Volume): Promise<ResolvedVolume> {
  if (!isClaim(volume)) return plainVolume(volume);
  const { namespace } = pod.metadata;
  const name = claimName(pod, volume);
  try {
    if (deps.objects === undefined) throw new VolumeError('no-api-server', 'this node runs without an API server');
    const claim = await deps.objects.claim(namespace, name);
    const bound = checkClaim(pod, volume, claim, name);
    const pv = checkBinding(await deps.objects.persistentVolume(bound.volumeName), bound);
    checkUse(pod, volume, pv);
    return {
      name: volume.name,
      source: sourceOfPersistent(pv),
      persistent: { claim: { namespace, name, uid: bound.uid }, pv },
      readOnly: sourceOf(volume['persistentVolumeClaim'])['readOnly'] === true,
      isBlock: isBlock(pv),
      mountOptions: mountOptionsOf(pv),
    };
  } catch (err) {
    const code = err instanceof VolumeError ? err.code : 'unresolved';
    throw new VolumeError(code, `error processing PVC ${namespace}/${name}: ${textOf(err)}`, err);
  }
}

/** The claim's name: the pod's own choice, or of an ephemeral volume the one that the control plane makes for this pod. */
function claimName(pod: Pod, volume: Volume): string {
  const named = textField(sourceOf(volume['persistentVolumeClaim']), 'claimName');
  return named === '' ? `${pod.metadata.name}-${volume.name}` : named;
}

function checkClaim(pod: Pod, volume: Volume, claim: PersistentVolumeClaim | undefined, name: string): { uid: string; volumeName: string } {
  const { namespace } = pod.metadata;
  if (claim === undefined)
    throw unresolved(`failed to fetch PVC from API server: persistentvolumeclaims ${JSON.stringify(name)} not found`);
  const { metadata, spec, status } = claim;
  if (sourceOf(volume['persistentVolumeClaim'])['claimName'] === undefined) {
    const isOwner = (metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === pod.metadata.uid);
    if (!isOwner) throw unresolved(`PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`);
  }
  if (metadata.deletionTimestamp) throw unresolved('PVC is being deleted');
  if (status?.phase !== 'Bound' || !spec.volumeName) throw unresolved('PVC is not bound');
  return { uid: metadata.uid ?? '', volumeName: spec.volumeName };
}

/** The binding is looked at from both sides: the PersistentVolume may have been given to another claim of the same name. */
function checkBinding(pv: PersistentVolume | undefined, { uid, volumeName }: { uid: string; volumeName: string }): PersistentVolume {
  if (pv === undefined) throw unresolved(`failed to fetch PV ${JSON.stringify(volumeName)} from API server: not found`);
  const { claimRef } = pv.spec;
  if (claimRef === undefined || claimRef === null) {
    throw unresolved(
      `found PV object ${JSON.stringify(volumeName)} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  if (claimRef.uid !== uid) {
    throw unresolved(
      `found PV object ${JSON.stringify(volumeName)} but its pv.Spec.ClaimRef.UID ${JSON.stringify(claimRef.uid ?? '')} ` +
        `does not point to claim.UID ${JSON.stringify(uid)}`,
    );
  }
  return pv;
}

function checkUse(pod: Pod, volume: Volume, pv: PersistentVolume): void {
  const { asDirectory, asDevice } = usesOf(pod, volume.name);
  const block = isBlock(pv);
  const wrong = block && asDirectory ? 'volumeMounts' : !block && asDevice ? 'volumeDevices' : undefined;
  if (wrong === undefined) return;
  throw unresolved(`volume ${volume.name} has volumeMode ${block ? 'Block' : 'Filesystem'}, but is specified in ${wrong}`);
}

/** Throws VolumeError when the PersistentVolume cannot be reached from this node. */
export function checkNodeAffinity({ nodeLabels }: Pick<ClaimDeps, 'nodeLabels'>, { persistent }: ResolvedVolume): void {
  const required = persistent?.pv.spec.nodeAffinity?.required;
  if (required === undefined || required === null) return;
  if (matchesNodeSelector(required, { metadata: { labels: nodeLabels() } }).match) return;
  throw new VolumeError('invalid', 'no matching NodeSelectorTerms');
}

/** The group that whoever made the PersistentVolume wants its pods to have; undefined when there is none. */
export function groupOf({ persistent }: ResolvedVolume): number | undefined {
  const text = persistent?.pv.metadata.annotations?.[GroupAnnotation];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** One pod at a time may use it (ReadWriteOncePod). */
export function isForOnePod({ persistent }: ResolvedVolume): boolean {
  return persistent?.pv.spec.accessModes?.includes('ReadWriteOncePod') === true;
}

function isBlock(pv: PersistentVolume): boolean {
  return pv.spec.volumeMode === 'Block';
}

function sourceOfPersistent(pv: PersistentVolume): Volume {
  const sources = Object.entries(pv.spec).filter(([key, value]) => !NoSources.has(key) && value !== null && value !== undefined);
  return { name: pv.metadata.name, ...Object.fromEntries(sources) };
}

function mountOptionsOf({ metadata, spec }: PersistentVolume): string[] {
  const old = metadata.annotations?.[MountOptionsAnnotation];
  return old === undefined ? (spec.mountOptions ?? []) : old.split(',').filter((option) => option !== '');
}

function unresolved(text: string): VolumeError {
  return new VolumeError('unresolved', text);
}
