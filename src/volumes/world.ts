import { isForOnePod } from './claims.ts';
import type { PodRemains } from './on-disk.ts';
import type { ResolvedVolume } from './resolved-volume.ts';

/** A volume that is, or may be, there. Plain data. */
export interface ActualVolume {
  podUid: string;
  /** The directory's name: of the volume, or of its PersistentVolume. */
  name: string;
  /** With `/`: `kubernetes.io/empty-dir`. */
  plugin: string;
  isBlock: boolean;
  /** `uncertain`: found on disk after a start, or a try to mount it has failed. */
  state: 'uncertain' | 'mounted';
}

/** What pods want of volumes, and what is there. Plain data, which nobody needs to go on after a restart: the disk tells. */
export class VolumeWorld {
  /** By the pod's UID, then by the volume's name in the pod. */
  readonly desired = new Map<string, Map<string, ResolvedVolume>>();
  /** By the pod's UID, then by directory. */
  readonly actual = new Map<string, Map<string, ActualVolume>>();

  /** As it was looked up when it was set up; `volume` is its name in the pod. */
  wanted(podUid: string, volume: string): ResolvedVolume | undefined {
    return this.desired.get(podUid)?.get(volume);
  }

  want(podUid: string, volume: ResolvedVolume): void {
    entryOf(this.desired, podUid).set(volume.name, volume);
  }

  note({ podUid, ...rest }: ActualVolume): void {
    entryOf(this.actual, podUid).set(`${rest.plugin}/${rest.name}`, { podUid, ...rest });
  }

  /** What was found on disk, as far as nothing better is known. */
  reconstruct(remains: ReadonlyMap<string, PodRemains>): void {
    for (const [podUid, { volumes }] of remains) {
      const known = entryOf(this.actual, podUid);
      for (const { plugin: directory, name, isBlock } of volumes) {
        const plugin = directory.replaceAll('~', '/');
        const key = `${plugin}/${name}`;
        if (!known.has(key)) known.set(key, { podUid, name, plugin, isBlock, state: 'uncertain' });
      }
    }
  }

  forget(podUid: string): void {
    this.desired.delete(podUid);
    this.actual.delete(podUid);
  }

  /** Another pod that has, or may have, a volume that only one pod may use. */
  otherUser(podUid: string, plugin: string, volume: ResolvedVolume): string | undefined {
    if (!isForOnePod(volume)) return undefined;
    const key = `${plugin}/${volume.source.name}`;
    return [...this.actual].find(([uid, volumes]) => uid !== podUid && volumes.has(key))?.[0];
  }
}

function entryOf<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let entry = map.get(key);
  if (entry === undefined) {
    entry = new Map();
    map.set(key, entry);
  }
  return entry;
}
