import { Quantity } from '../../api/quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../kube/types.ts';

/** What is to be done about the size of a volume on this node. */
export type ExpansionStep =
  | { kind: 'none' }
  /** The pod mounts it read-only: it stays as it is. */
  | { kind: 'read-only' }
  /** `isTracked`: the controller follows the expansion in the claim's status (RecoverVolumeExpansionFailure). */
  | { kind: 'expand'; size: Quantity; isTracked: boolean };

/** Statuses of a claim in which the node has its turn. */
const NodesTurn: ReadonlySet<string> = new Set(['NodeResizePending', 'NodeResizeInProgress']);
/** Conditions of a claim that tell of a change of its size. */
const ResizeConditions = ['FileSystemResizePending', 'Resizing', 'ControllerResizeError', 'NodeResizeError'];

/** Whether the volume is larger than its claim knows, and the node has to make its part of that. Source: the kubelet's node expander. */
export function expansionStep(pv: PersistentVolume, claim: PersistentVolumeClaim, readOnly: boolean): ExpansionStep {
  const wanted = storageOf(pv.spec.capacity);
  const has = storageOf(claim.status?.capacity);
  if (wanted === undefined || has === undefined || has.cmp(wanted) >= 0) return { kind: 'none' };
  if (readOnly) return { kind: 'read-only' };
  const status = claim.status?.allocatedResourceStatuses?.['storage'] ?? '';
  const allocated = storageOf(claim.status?.allocatedResources);
  if (status === '' || allocated === undefined) return { kind: 'expand', size: wanted, isTracked: false };
  return NodesTurn.has(status) ? { kind: 'expand', size: allocated, isTracked: true } : { kind: 'none' };
}

/** The claim's status when the node begins. */
export function inProgressPatch(claim: PersistentVolumeClaim): object {
  return { ...versionOf(claim), status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } } };
}

/** When it is done: the claim has the size, and nothing tells of a change any more. */
export function finishedPatch(claim: PersistentVolumeClaim, size: Quantity): object {
  const there = new Set((claim.status?.conditions ?? []).map(({ type }) => type));
  const conditions = ResizeConditions.filter((type) => there.has(type)).map((type) => ({ type, $patch: 'delete' }));
  return {
    ...versionOf(claim),
    status: {
      capacity: { storage: size.toString() },
      allocatedResourceStatuses: { storage: null },
      ...(conditions.length === 0 ? {} : { conditions }),
    },
  };
}

/** When the driver has refused: `infeasible` is not tried again for that size. */
export function failedPatch(cause: string, infeasible: boolean, now: string): object {
  const message = `failed to expand pvc with ${cause}`;
  return {
    status: {
      ...(infeasible ? { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } } : {}),
      conditions: [{ type: 'NodeResizeError', status: 'True', lastTransitionTime: now, message }],
    },
  };
}

/** Written only on the claim that was looked at. */
function versionOf({ metadata }: PersistentVolumeClaim): object {
  return metadata.resourceVersion === undefined ? {} : { metadata: { resourceVersion: metadata.resourceVersion } };
}

function storageOf(resources: Readonly<Record<string, unknown>> | undefined): Quantity | undefined {
  const value = resources?.['storage'];
  return value === undefined || value === null ? undefined : Quantity.fromJson(value);
}
