import { posix } from 'node:path';
import type { Files } from '../../host/files.ts';
import { listed } from '../on-disk.ts';
import { DevicesDir, escapePlugin, VolumesDir } from '../paths.ts';
import { blockPaths, CsiPluginName, csiDir } from './names.ts';
import { keyOf, type StagedVolume } from './staged-volumes.ts';
import { loadVolData } from './vol-data.ts';

const CsiDirName = escapePlugin(CsiPluginName);
const DevicesName = 'volumeDevices';

/** A volume that a pod has. */
export interface UsedVolume {
  volume: StagedVolume;
  podUid: string;
}

/** What pods and the node have of the CSI volumes of PersistentVolumes, found on disk. Records that cannot be read are left out. */
export class CsiOnDisk {
  readonly #files: Files;
  readonly #rootDir: string;

  constructor(files: Files, rootDir: string) {
    this.#files = files;
    this.#rootDir = rootDir;
  }

  async isUsed(volume: StagedVolume): Promise<boolean> {
    return (await this.ofPods()).some((used) => keyOf(used.volume) === keyOf(volume));
  }

  async ofPods(): Promise<UsedVolume[]> {
    const podsDir = posix.join(this.#rootDir, 'pods');
    const found: UsedVolume[] = [];
    for (const { name: podUid } of await listed(this.#files, podsDir)) {
      const volumes = posix.join(podsDir, podUid, VolumesDir, CsiDirName);
      for (const { name } of await listed(this.#files, volumes)) {
        const volume = await this.#read(posix.join(volumes, name), name, false);
        if (volume !== undefined) found.push({ volume, podUid });
      }
      for (const { name } of await listed(this.#files, posix.join(podsDir, podUid, DevicesDir, CsiDirName))) {
        const volume = await this.#read(blockPaths(this.#rootDir, name).dataDir, name, true);
        if (volume !== undefined) found.push({ volume, podUid });
      }
    }
    return found;
  }

  /** Volumes that were staged, or may have been. */
  async staged(): Promise<StagedVolume[]> {
    const base = csiDir(this.#rootDir);
    const found: (StagedVolume | undefined)[] = [];
    for (const { name: driver } of await listed(this.#files, base)) {
      for (const { name } of await listed(this.#files, posix.join(base, driver))) {
        const dir = posix.join(base, driver, name);
        if (driver === DevicesName) found.push(await this.#read(posix.join(dir, 'data'), name, true));
        else found.push(await this.#read(dir, '', false));
      }
    }
    return found.filter((volume) => volume !== undefined);
  }

  async #read(dir: string, name: string, isBlock: boolean): Promise<StagedVolume | undefined> {
    const data = await loadVolData(this.#files, dir).catch(() => undefined);
    if (data === undefined || data.volumeLifecycleMode === 'Ephemeral') return undefined;
    return { driver: data.driverName, handle: data.volumeHandle, name: data.specVolID ?? name, isBlock };
  }
}
