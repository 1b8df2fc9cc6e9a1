import type { Pod, Volume } from '../api/types.ts';
import type { PersistentVolume } from '../kube/types.ts';

/** The claim of a pod's volume, and the PersistentVolume that it is bound to. */
export interface PersistentSource {
  claim: { namespace: string; name: string; uid: string };
  pv: PersistentVolume;
}

/** A volume of a pod, with the claim that it names looked up. Plain data. */
export interface ResolvedVolume {
  /** In the pod. */
  name: string;
  /**
   * What a plug-in mounts: the pod's own volume, or under the name of the PersistentVolume its source, in the form that
   * it would have in a pod: `{ name: 'pv-1', nfs: {...} }`.
   */
  source: Volume;
  persistent?: PersistentSource;
  /** The pod's volume asks for a read-only mount. */
  readOnly: boolean;
  /** Its containers see a block device, no directory. */
  isBlock: boolean;
  mountOptions: readonly string[];
}

/** True when the pod names a claim, or is given one of its own. */
export function isClaim({ persistentVolumeClaim, ephemeral }: Volume): boolean {
  return [persistentVolumeClaim, ephemeral].some((source) => source !== undefined && source !== null);
}

/** How the volume is used by the pod's containers: neither by one that nobody mounts. */
export function usesOf({ spec }: Pod, volume: string): { asDirectory: boolean; asDevice: boolean } {
  const all = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  return {
    asDirectory: all.some((container) => container.volumeMounts?.some(({ name }) => name === volume)),
    asDevice: all.some((container) => container.volumeDevices?.some(({ name }) => name === volume)),
  };
}

/** The volumes that some container uses: others are left alone, as the real kubelet does. */
export function usedVolumes(pod: Pod): Volume[] {
  return (pod.spec.volumes ?? []).filter(({ name }) => {
    const { asDirectory, asDevice } = usesOf(pod, name);
    return asDirectory || asDevice;
  });
}

/** A volume that names no claim. */
export function plainVolume(volume: Volume): ResolvedVolume {
  return { name: volume.name, source: volume, readOnly: false, isBlock: false, mountOptions: [] };
}
