import { posix } from 'node:path';
import { waitForDevice } from '../device-paths.ts';
import { isMounted } from '../global-mounts.ts';
import { MountedVolume, type MountedVolumeDeps } from '../mounted-volume.ts';
import { giveToGroup } from '../ownership.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { sourceOf, textField } from '../source-fields.ts';
import { VolumeError } from '../volume-error.ts';

const ByPath = '/dev/disk/by-path';
const ById = '/dev/disk/by-id';
const ScsiHosts = '/sys/class/scsi_host';

/** A disk of a Fibre Channel network, by its target and unit or by its World Wide Identifier. */
export class FibreChannel extends MountedVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/fc';
  override readonly relabel = true;

  constructor(deps: MountedVolumeDeps) {
    super('fc', deps);
  }

  async setUp(context: VolumeContext): Promise<void> {
    const { dir, volume, mountOptions } = context;
    if (await isMounted(this.deps.mounts, dir)) return;
    const fc = sourceOf(volume['fc']);
    const readOnly = context.readOnly || fc['readOnly'] === true;
    const device = await this.#device(context);
    const place = fcNames(fc)[0]?.place ?? '';
    await this.globalMounts().bind({ place, device, fsType: textField(fc, 'fsType'), readOnly, options: mountOptions }, dir);
    if (!readOnly) await giveToGroup(this.deps, context, dir, readOnly);
  }

  setUpDevice(context: VolumeContext): Promise<string> {
    return this.#device(context);
  }

  override async tearDown(dir: string): Promise<void> {
    await super.tearDown(dir);
    await this.globalMounts().collect(async (_place, device) => this.#forgetDisk(device));
  }

  async #device({ volume, signal }: VolumeContext): Promise<string> {
    const names = fcNames(sourceOf(volume['fc']));
    if (names.length === 0) throw new VolumeError('invalid', 'fc: neither targetWWNs with a lun, nor wwids are given');
    const { files, clock } = this.deps;
    const find = async () => {
      for (const { folder, matches } of names) {
        const entry = (await files.list(folder).catch(() => [])).find(({ name }) => matches(name));
        if (entry !== undefined) return posix.join(folder, entry.name);
      }
      return undefined;
    };
    return waitForDevice({ clock, signal, find, rescan: () => this.#rescan(), what: 'fc: no disk found' });
  }

  /** Has every host adapter look for all of its targets and units. */
  async #rescan(): Promise<void> {
    const { files } = this.deps;
    for (const { name } of await files.list(ScsiHosts).catch(() => [])) {
      await files.write(posix.join(ScsiHosts, name, 'scan'), '- - -', 0o200).catch(() => {});
    }
  }

  /** So that the unit can be given to another node. */
  async #forgetDisk(device: string): Promise<void> {
    const name = posix.basename(device);
    await this.deps.files.write(posix.join('/sys/block', name, 'device/delete'), '1', 0o200).catch(() => {});
  }
}

interface FcName {
  folder: string;
  matches(name: string): boolean;
  /** Below the plug-in's directory of global mounts. */
  place: string;
}

/** The names in /dev/disk that stand for the volume, in the order in which they are tried. */
export function fcNames(fc: Readonly<Record<string, unknown>>): FcName[] {
  const texts = (value: unknown) => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []);
  const { lun } = fc;
  if (typeof lun === 'number') {
    return texts(fc['targetWWNs']).map((wwn) => ({
      folder: ByPath,
      matches: (name) => name.endsWith(`-fc-0x${wwn}-lun-${lun}`),
      place: `target-${wwn}-lun-${lun}`,
    }));
  }
  return texts(fc['wwids']).map((wwid) => ({
    folder: ById,
    matches: (name) => name === `scsi-${wwid.replaceAll(' ', '_')}`,
    place: `wwid-${wwid.replaceAll(/[^\w.-]/g, '_')}`,
  }));
}
