import type { Pod } from '../api/types.ts';
import { isLocalEphemeral, type VolumeUsage } from '../volumes/usage.ts';
import { timeOf } from './group-json.ts';
import type { MeasuredVolume } from './pod-summary.ts';

/** A pod's volumes as the summary shows them: those on the node's own disk first. */
export function measuredVolumes(pod: Pod | undefined, usages: readonly VolumeUsage[]): MeasuredVolume[] {
  const local = new Set((pod?.spec.volumes ?? []).filter(isLocalEphemeral).map((v) => v.name));
  const all = usages.map((usage): MeasuredVolume => {
    const { volume, claim, measuredAtMs, plugin: _plugin, isPartial: _isPartial, ...figures } = usage;
    const pvcRef = claim === undefined ? {} : { pvcRef: { name: claim.name, namespace: claim.namespace } };
    return { ephemeral: local.has(volume), stats: { name: volume, time: timeOf(measuredAtMs), ...figures, ...pvcRef } };
  });
  return [...all.filter((v) => v.ephemeral), ...all.filter((v) => !v.ephemeral)];
}
