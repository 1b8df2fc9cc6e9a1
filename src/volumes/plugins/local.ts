import type { FileInfo } from '../../host/files.ts';
import { isMounted } from '../global-mounts.ts';
import { attachLoop, detachLoopsOf } from '../loop-device.ts';
import { MountedVolume, type MountedVolumeDeps } from '../mounted-volume.ts';
import { giveToGroup } from '../ownership.ts';
import type { PlacedVolume, VolumeContext, VolumePlugin } from '../plugin.ts';
import { sourceOf, textField } from '../source-fields.ts';
import { countedUsage, mountedUsage, type UsageInput, type VolumeFigures } from '../usage.ts';
import { VolumeError } from '../volume-error.ts';

const LookMs = 10_000;

export interface LocalDeps extends MountedVolumeDeps {
  slowFiles: UsageInput['files'];
}

/** A directory or a disk of this node, given out as a PersistentVolume. */
export class Local extends MountedVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/local-volume';
  override readonly relabel = true;
  readonly #slowFiles: LocalDeps['slowFiles'];

  constructor(deps: LocalDeps) {
    super('local', deps);
    this.#slowFiles = deps.slowFiles;
  }

  async setUp(context: VolumeContext): Promise<void> {
    const { files, mounts, mounter } = this.deps;
    const { dir, volume, readOnly, mountOptions } = context;
    if (await isMounted(mounts, dir)) return;
    const { path, kind } = await this.#source(context);
    if (kind === 'block') {
      const fsType = textField(sourceOf(volume['local']), 'fsType');
      await this.globalMounts().bind({ place: `mounts/${volume.name}`, device: path, fsType, readOnly, options: mountOptions }, dir);
    } else if (kind === 'directory') {
      await files.mkdir(dir, 0o750);
      await mounter.mount({ source: path, target: dir, options: ['bind', ...(readOnly ? ['ro'] : []), ...mountOptions] });
    } else {
      throw new VolumeError('invalid', `path ${JSON.stringify(path)} is neither a directory nor a block device, but a ${kind}`);
    }
    if (!readOnly) await giveToGroup(this.deps, context, dir, readOnly);
  }

  /** A block device as it is; a file through a loop device. */
  async setUpDevice(context: VolumeContext): Promise<string> {
    const { path, kind } = await this.#source(context);
    if (kind === 'block') return path;
    if (kind === 'file') return attachLoop(this.deps.tools, path);
    throw new VolumeError('invalid', `path ${JSON.stringify(path)} is neither a block device nor a file, but a ${kind}`);
  }

  async release({ path, isBlock }: PlacedVolume): Promise<void> {
    if (isBlock) await detachLoopsOf(this.deps, path);
  }

  override async usage(input: UsageInput): Promise<VolumeFigures | undefined> {
    // A directory of a larger disk has that disk's figures, as the real kubelet tells them.
    return (await mountedUsage(input, input.dir)) ?? countedUsage(input, input.dir);
  }

  override async tearDown(dir: string): Promise<void> {
    await super.tearDown(dir);
    await this.globalMounts().collect();
  }

  async #source({ volume }: VolumeContext): Promise<{ path: string; kind: FileInfo['kind'] }> {
    const path = textField(sourceOf(volume['local']), 'path');
    if (!path.startsWith('/') || path.split('/').includes('..')) {
      throw new VolumeError('invalid', `local: the path ${JSON.stringify(path)} must be absolute and must not contain '..'`);
    }
    const kind = await this.#slowFiles.run('kind', [path], LookMs);
    if (kind === undefined) throw new VolumeError('not-found', `path ${JSON.stringify(path)} does not exist`);
    return { path, kind };
  }
}
