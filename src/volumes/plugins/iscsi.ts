import { posix } from 'node:path';
import { waitForDevice } from '../device-paths.ts';
import { isMounted } from '../global-mounts.ts';
import {
  type ChapSecret,
  devicePattern,
  type IscsiTarget,
  iscsiTarget,
  loginCommands,
  logoutCommands,
  placeOf,
  targetOfPlace,
} from '../iscsi-commands.ts';
import { MountedVolume, type MountedVolumeDeps } from '../mounted-volume.ts';
import { type FileSources, objectsOf } from '../object-files.ts';
import { giveToGroup } from '../ownership.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { sourceOf, textField } from '../source-fields.ts';
import { VolumeError } from '../volume-error.ts';

const ByPath = '/dev/disk/by-path';
/** Exit codes of iscsiadm(8): there is a session already; there is no record or session. */
const SessionExists = 15;
const NothingFound = 21;

export interface IscsiDeps extends MountedVolumeDeps {
  sources: FileSources;
}

/** A unit of an iSCSI target. Needs iscsiadm and its daemon on the node. */
export class Iscsi extends MountedVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/iscsi';
  override readonly relabel = true;
  readonly #sources: FileSources;

  constructor(deps: IscsiDeps) {
    super('iscsi', deps);
    this.#sources = deps.sources;
  }

  async setUp(context: VolumeContext): Promise<void> {
    const { dir, volume, mountOptions } = context;
    if (await isMounted(this.deps.mounts, dir)) return;
    const target = iscsiTarget(sourceOf(volume['iscsi']));
    const readOnly = context.readOnly || target.readOnly;
    const device = await this.#device(context, target);
    await this.globalMounts().bind({ place: placeOf(target), device, fsType: target.fsType, readOnly, options: mountOptions }, dir);
    if (!readOnly) await giveToGroup(this.deps, context, dir, readOnly);
  }

  setUpDevice(context: VolumeContext): Promise<string> {
    return this.#device(context, iscsiTarget(sourceOf(context.volume['iscsi'])));
  }

  override async tearDown(dir: string): Promise<void> {
    await super.tearDown(dir);
    await this.globalMounts().collect(async (place) => this.#logout(place));
  }

  /** The unit's disk, through the first portal that leads to it. */
  async #device(context: VolumeContext, target: IscsiTarget): Promise<string> {
    const { files, clock } = this.deps;
    const secret = await this.#secret(context, target);
    const failures: string[] = [];
    for (const portal of target.portals) {
      const fault = await this.#login(target, portal, secret);
      if (fault !== undefined) failures.push(`portal ${portal}: ${fault}`);
    }
    if (failures.length === target.portals.length)
      throw new VolumeError('host', `failed to get any path for iscsi disk: ${failures.join('; ')}`);
    const patterns = target.portals.map((portal) => devicePattern(target, portal));
    const find = async () => {
      const names = (await files.list(ByPath).catch(() => [])).map(({ name }) => name);
      const name = names.find((n) => patterns.some((pattern) => pattern.test(n)));
      return name === undefined ? undefined : posix.join(ByPath, name);
    };
    const { signal } = context;
    return waitForDevice({ clock, signal, find, rescan: () => this.#rescan(target), what: `iscsi: no disk of ${target.iqn} found` });
  }

  /** Why there is no session; undefined when there is one. */
  async #login(target: IscsiTarget, portal: string, secret: ChapSecret): Promise<string | undefined> {
    for (const args of loginCommands(target, portal, secret)) {
      const { code, stderr } = await this.deps.tools.run('iscsiadm', args);
      // The arguments may hold a password: they are not told.
      if (code !== 0 && code !== SessionExists) return `iscsiadm: exit status ${code}: ${stderr.trim()}`;
    }
    return undefined;
  }

  async #rescan({ iqn, iface }: IscsiTarget): Promise<void> {
    await this.deps.tools.run('iscsiadm', ['-m', 'node', '-T', iqn, '-I', iface, '--rescan']);
  }

  /** Another unit of the target may be in use: then the session stays. */
  async #logout(place: string): Promise<void> {
    const target = targetOfPlace(place);
    if (target === undefined) return;
    const { iqn, portal, iface } = target;
    if ((await this.deps.mounts.list()).some(({ mountPoint }) => mountPoint.includes(`/iface-${iface}/${portal}-${iqn}-lun-`))) return;
    for (const args of logoutCommands(portal, iqn, iface)) {
      const { code, stderr } = await this.deps.tools.run('iscsiadm', args);
      if (code !== 0 && code !== NothingFound)
        throw new VolumeError('host', `iscsi: cannot leave ${iqn}: exit status ${code}: ${stderr.trim()}`);
    }
  }

  async #secret({ pod, volume }: VolumeContext, { chapSession, chapDiscovery }: IscsiTarget): Promise<ChapSecret> {
    if (!chapSession && !chapDiscovery) return new Map();
    const reference = sourceOf(sourceOf(volume['iscsi'])['secretRef']);
    const name = textField(reference, 'name');
    const namespace = textField(reference, 'namespace') || pod.metadata.namespace;
    const secret = await objectsOf(this.#sources, `secret ${namespace}/${name}`).secret(namespace, name);
    if (secret === undefined)
      throw new VolumeError('not-found', `failed to get secret from [${JSON.stringify(namespace)}/${JSON.stringify(name)}]`);
    return new Map([...secret.data].map(([key, bytes]) => [key, Buffer.from(bytes).toString('utf8')]));
  }
}
