import { posix } from 'node:path';
import type { Files } from '../host/files.ts';
import type { Mounter, Mounts } from '../host/mounts.ts';
import { Turns } from '../host/turns.ts';
import { type DiskDeps, formatAndMount } from './disk-format.ts';

export interface GlobalMountsDeps extends DiskDeps {
  files: Files;
  mounts: Pick<Mounts, 'list' | 'unmount' | 'below'>;
  mounter: Mounter;
  /** {root}, without links. */
  rootDir(): Promise<string>;
}

export interface DeviceVolume {
  /** Below {root}/plugins/{plug-in}: where the device is mounted for all pods. */
  place: string;
  device: string;
  fsType: string;
  readOnly: boolean;
  options: readonly string[];
}

/**
 * Disks that several pods of the node may share: each is mounted once, at a place of its plug-in, and bound into the directory of
 * each pod. Whether a pod still uses it is read from mountinfo, by the device.
 */
export class GlobalMounts {
  readonly #plugin: string;
  readonly #deps: GlobalMountsDeps;
  /** One change at a time: a disk that is about to go must not be bound once more. */
  readonly #turns = new Turns();

  constructor(plugin: string, deps: GlobalMountsDeps) {
    this.#plugin = plugin;
    this.#deps = deps;
  }

  /** Mounts the device where it is not yet, and binds it to `dir`. Idempotent. */
  bind(volume: DeviceVolume, dir: string): Promise<void> {
    return this.#turns.run(this.#plugin, async () => {
      const { files, mounts, mounter } = this.#deps;
      const place = posix.join(await this.#base(), volume.place);
      if (!(await isMounted(mounts, place))) {
        await files.mkdir(place, 0o750);
        const { device, fsType, readOnly, options } = volume;
        await formatAndMount(this.#deps, { device, target: place, fsType, options, readOnly });
      }
      if (await isMounted(mounts, dir)) return;
      await files.mkdir(dir, 0o750);
      await mounter.mount({ source: place, target: dir, options: ['bind', ...(volume.readOnly ? ['ro'] : [])] });
    });
  }

  /** Unmounts the disks that no pod uses any more; `freed` gets the place and the device of each. */
  collect(freed: (place: string, device: string) => Promise<void> = async () => {}): Promise<void> {
    return this.#turns.run(this.#plugin, async () => {
      const { files, mounts } = this.#deps;
      const base = await this.#base();
      const all = await mounts.list();
      for (const { mountPoint, source } of all.filter((mount) => mount.mountPoint.startsWith(`${base}/`))) {
        if (all.some((other) => other.source === source && !other.mountPoint.startsWith(`${base}/`))) continue;
        await mounts.unmount(mountPoint);
        await files.rmdir(mountPoint);
        await freed(mountPoint.slice(base.length + 1), source);
      }
    });
  }

  async #base(): Promise<string> {
    return posix.join(await this.#deps.rootDir(), 'plugins', this.#plugin);
  }
}

/** True when something is mounted at `path`, or below it. */
export async function isMounted(mounts: Pick<Mounts, 'below'>, path: string): Promise<boolean> {
  return (await mounts.below(path)).length > 0;
}
