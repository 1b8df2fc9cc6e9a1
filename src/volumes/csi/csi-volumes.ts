import type { Volume } from '../../api/types.ts';
import type { PlacedVolume, VolumeContext, VolumePlugin } from '../plugin.ts';
import { has } from '../source-fields.ts';
import type { UsageInput, VolumeFigures } from '../usage.ts';
import { textOf, VolumeError } from '../volume-error.ts';
import { BlockVolumes, type BlockVolumesDeps } from './block-volumes.ts';
import type { VolumeExpander } from './expander.ts';
import { FsVolumes, targetOf } from './fs-volumes.ts';
import { blockPaths, CsiPluginName, stagingPath } from './names.ts';
import { type CsiVolume, csiVolume } from './source.ts';
import type { StagedVolume } from './staged-volumes.ts';
import { loadVolData } from './vol-data.ts';

export interface CsiVolumePluginDeps extends BlockVolumesDeps {
  expander: VolumeExpander;
}

/** A driver that does not say what a volume holds keeps no other volume from being measured. */
const StatsMs = 5_000;

/** Volumes of CSI drivers: inline, and of PersistentVolumes; as directories and as devices. */
export class CsiVolumePlugin implements VolumePlugin {
  readonly name = CsiPluginName;
  readonly readOnly = false;
  readonly relabel = true;
  /** Each sync: what an earlier run mounted is published again, as is what its driver wants repeated; and volumes grow. */
  readonly refreshes = true;
  readonly isHostPath = false;
  readonly takesMountOptions = true;
  readonly #deps: CsiVolumePluginDeps;
  readonly #fs: FsVolumes;
  readonly #block: BlockVolumes;

  constructor(deps: CsiVolumePluginDeps) {
    this.#deps = deps;
    this.#fs = new FsVolumes(deps);
    this.#block = new BlockVolumes(deps);
  }

  supports(volume: Volume): boolean {
    return has(volume, 'csi');
  }

  async setUp(context: VolumeContext): Promise<void> {
    const { rootDir } = this.#deps;
    const volume = csiVolume(context);
    const wasPublished = this.#fs.isPublished(context.dir);
    await this.#fs.setUp(context, volume);
    if (volume.mode === 'Ephemeral') return;
    const at = { volumePath: targetOf(context.dir), stagingPath: stagingPath(rootDir, volume.driver, volume.handle), isBlock: false };
    await this.#expanded(context, volume, wasPublished, () => this.#deps.expander.expand(context, volume, at));
  }

  async setUpDevice(context: VolumeContext): Promise<string> {
    const { rootDir } = this.#deps;
    const volume = csiVolume(context);
    if (volume.mode === 'Ephemeral') throw new VolumeError('invalid', 'inline CSI volumes cannot be block devices');
    const wasPublished = this.#block.isPublished(context.pod.metadata.uid, volume.name);
    const volumePath = await this.#block.setUp(context, volume);
    const at = { volumePath, stagingPath: blockPaths(rootDir, volume.name).staging, isBlock: true };
    await this.#expanded(context, volume, wasPublished, () => this.#deps.expander.expand(context, volume, at));
    return volumePath;
  }

  hostPath(_volume: Volume, dir: string): string {
    return targetOf(dir);
  }

  async usage({ dir }: UsageInput): Promise<VolumeFigures | undefined> {
    const data = await loadVolData(this.#deps.files, dir);
    if (data === undefined) return undefined;
    using client = this.#deps.clients.open(data.driverName, StatsMs);
    if (!(await client.supports('GET_VOLUME_STATS'))) return undefined;
    const { bytes, inodes } = await client.stats(data.volumeHandle, targetOf(dir));
    return {
      ...(bytes === undefined ? {} : { usedBytes: bytes.used, capacityBytes: bytes.total, availableBytes: bytes.available }),
      ...(inodes === undefined ? {} : { inodesUsed: inodes.used, inodes: inodes.total, inodesFree: inodes.available }),
    };
  }

  release(placed: PlacedVolume): Promise<void> {
    return placed.isBlock ? this.#block.release(placed) : this.#fs.release(placed);
  }

  tearDown(dir: string): Promise<void> {
    return this.#fs.tearDown(dir);
  }

  /** The pod has no volumes on disk any more. */
  forgetPod(uid: string): void {
    this.#deps.staged.dropPod(uid);
  }

  /** For whoever unstages volumes. */
  unstage(volume: StagedVolume): Promise<void> {
    return volume.isBlock ? this.#block.unstage(volume) : this.#fs.unstage(volume);
  }

  /** A volume that is too small keeps a new pod waiting; of one that is in use it is told. */
  async #expanded({ pod }: VolumeContext, volume: CsiVolume, wasPublished: boolean, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      const { namespace, name, uid } = pod.metadata;
      const text = `NodeExpandVolume.NodeExpandVolume failed for volume ${JSON.stringify(volume.name)} : ${textOf(err)}`;
      this.#deps.events.event({ kind: 'Pod', namespace, name, uid }, 'Warning', 'VolumeResizeFailed', text);
      if (!wasPublished) throw new VolumeError('host', `failed while expanding volume: ${textOf(err)}`, err);
    }
  }
}
