import type { Volume } from '../../api/types.ts';
import { podEventObject } from '../../observe/event-object.ts';
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
  /** What a pod waited for is there. */
  wake(podUid: string): void;
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
  /** Pods that wait for a driver, by its name. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(deps: CsiVolumePluginDeps) {
    this.#deps = deps;
    this.#fs = new FsVolumes(deps);
    this.#block = new BlockVolumes(deps);
  }

  supports(volume: Volume): boolean {
    return has(volume, 'csi');
  }

  setUp(context: VolumeContext): Promise<void> {
    const volume = csiVolume(context);
    return this.#waitsFor(volume.driver, context.pod.metadata.uid, () => this.#setUp(context, volume));
  }

  setUpDevice(context: VolumeContext): Promise<string> {
    const volume = csiVolume(context);
    return this.#waitsFor(volume.driver, context.pod.metadata.uid, () => this.#setUpDevice(context, volume));
  }

  /** A driver came, or went. */
  driverChanged(driver: string): void {
    const waiting = this.#waiting.get(driver) ?? [];
    this.#waiting.delete(driver);
    for (const uid of waiting) this.#deps.wake(uid);
  }

  async #setUp(context: VolumeContext, volume: CsiVolume): Promise<void> {
    const { rootDir } = this.#deps;
    const wasPublished = this.#fs.isPublished(context.dir);
    await this.#fs.setUp(context, volume);
    if (volume.mode === 'Ephemeral') return;
    const at = { volumePath: targetOf(context.dir), stagingPath: stagingPath(rootDir, volume.driver, volume.handle), isBlock: false };
    await this.#expanded(context, volume, wasPublished, () => this.#deps.expander.expand(context, volume, at));
  }

  async #setUpDevice(context: VolumeContext, volume: CsiVolume): Promise<string> {
    const { rootDir } = this.#deps;
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

  /** Also a pod that is on its way out may wait for its driver. */
  async release(placed: PlacedVolume): Promise<void> {
    const driver = await this.#driverOf(placed);
    if (driver === undefined) return;
    await this.#waitsFor(driver, placed.podUid, () => (placed.isBlock ? this.#block.release(placed) : this.#fs.release(placed)));
  }

  tearDown(dir: string): Promise<void> {
    return this.#fs.tearDown(dir);
  }

  /** The pod has no volumes on disk any more. */
  forgetPod(uid: string): void {
    for (const waiting of this.#waiting.values()) waiting.delete(uid);
    this.#deps.staged.dropPod(uid);
  }

  /** For whoever unstages volumes. */
  unstage(volume: StagedVolume): Promise<void> {
    return volume.isBlock ? this.#block.unstage(volume) : this.#fs.unstage(volume);
  }

  async #driverOf({ isBlock, name, path }: PlacedVolume): Promise<string | undefined> {
    const { files, rootDir } = this.#deps;
    return (await loadVolData(files, isBlock ? blockPaths(rootDir, name).dataDir : path))?.driverName;
  }

  async #waitsFor<T>(driver: string, podUid: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (err) {
      if (err instanceof VolumeError && err.code === 'not-registered') {
        const waiting = this.#waiting.get(driver) ?? new Set();
        this.#waiting.set(driver, waiting.add(podUid));
      }
      throw err;
    }
  }

  /** A volume that is too small keeps a new pod waiting; of one that is in use it is told. */
  async #expanded({ pod }: VolumeContext, volume: CsiVolume, wasPublished: boolean, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      const text = `NodeExpandVolume.NodeExpandVolume failed for volume ${JSON.stringify(volume.name)} : ${textOf(err)}`;
      this.#deps.events.event(podEventObject(pod), 'Warning', 'VolumeResizeFailed', text);
      if (!wasPublished) throw new VolumeError('host', `failed while expanding volume: ${textOf(err)}`, err);
    }
  }
}
