import type { Pod, Volume } from '../api/types.ts';
import type { PersistentSource } from './resolved-volume.ts';
import type { UsageInput, VolumeFigures } from './usage.ts';

/** One volume of one pod that is to be set up. */
export interface VolumeContext {
  pod: Pod;
  /** The pod's own volume, or the source of its PersistentVolume under the PersistentVolume's name (see ResolvedVolume). */
  volume: Volume;
  /** {root}/pods/{uid}/volumes/{plug-in}/{volume}; the plug-in makes it when it needs it. */
  dir: string;
  /** The group that must be able to use the files. */
  fsGroup: number | undefined;
  /** The claim and the PersistentVolume, where the pod names a claim. */
  persistent?: PersistentSource | undefined;
  /** The pod asks for a read-only mount. */
  readOnly: boolean;
  /** Only for a plug-in that says that it takes them. */
  mountOptions: readonly string[];
  /** Aborts when the pod is to stop. */
  signal: AbortSignal;
}

/** A volume as its place on disk shows it; the pod may be unknown. */
export interface PlacedVolume {
  podUid: string;
  /** Of the volume, or of its PersistentVolume. */
  name: string;
  /** As in VolumeContext; of a block volume the link in {root}/pods/{uid}/volumeDevices/{plug-in}. */
  path: string;
  isBlock: boolean;
}

/** One kind of volume. Nothing of a volume is kept in memory: it is found again by its directory. */
export interface VolumePlugin {
  /** As Kubernetes calls it, e.g. `kubernetes.io/empty-dir`: names the directory too. */
  readonly name: string;
  /** Containers can only read it, whatever the pod says (CVE-2017-1002102). */
  readonly readOnly: boolean;
  /** The agent made the files: their SELinux label may be changed for the container. */
  readonly relabel: boolean;
  /** What it shows changes while the pod runs: set up again at each sync. */
  readonly refreshes: boolean;
  /** A path of the host that the pod's author chose, where links are the host's affair. */
  readonly isHostPath: boolean;
  /** Takes mount options of a PersistentVolume. */
  readonly takesMountOptions?: boolean;
  supports(volume: Volume): boolean;
  /** Idempotent, also after a crash in the middle. Rejects with the cause, without the volume's name. */
  setUp(context: VolumeContext): Promise<void>;
  /** Where the host has it. `dir` as in VolumeContext. */
  hostPath(volume: Volume, dir: string): string;
  /** Has a block volume ready; gives the path of its device or file on the host. A kind without this has no block volumes. */
  setUpDevice?(context: VolumeContext): Promise<string>;
  /** What it holds; undefined when it is not there. A kind without this is not measured. */
  usage?(input: UsageInput): Promise<VolumeFigures | undefined>;
  /** Before anything of the volume is unmounted or its link is removed, for a kind that takes it down itself. Idempotent. */
  release?(placed: PlacedVolume): Promise<void>;
  /** The pod has nothing on disk any more, or never had: what is kept for it in memory goes. */
  forgetPod?(podUid: string): void;
  /** Removes what is at `dir`, where nothing is mounted any more. Idempotent. The pod may be unknown. */
  tearDown(dir: string): Promise<void>;
}
