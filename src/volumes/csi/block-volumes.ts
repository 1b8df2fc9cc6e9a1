import { posix } from 'node:path';
import type { LoopDevices } from '../../host/loop-devices.ts';
import type { Mounter } from '../../host/mounts.ts';
import { podEventObject } from '../../observe/event-object.ts';
import type { EventRecorder } from '../../observe/events.ts';
import { linkDevice } from '../device-links.ts';
import { isMounted } from '../global-mounts.ts';
import { deviceLink } from '../paths.ts';
import type { PlacedVolume, VolumeContext } from '../plugin.ts';
import { VolumeError } from '../volume-error.ts';
import { podAttributes } from './attributes.ts';
import { failureKind } from './csi-error.ts';
import type { CsiVolumesDeps } from './fs-volumes.ts';
import { type BlockPaths, blockPaths, CsiPluginName } from './names.ts';
import type { CsiNodeClient, StringMap } from './node-client.ts';
import { secretOf } from './publish.ts';
import { removeMountDir } from './remove-mount-dir.ts';
import type { CsiVolume } from './source.ts';
import type { StagedVolume } from './staged-volumes.ts';
import { loadVolData, podVolData, saveVolData } from './vol-data.ts';

export interface BlockVolumesDeps extends CsiVolumesDeps {
  mounter: Pick<Mounter, 'mount'>;
  loops: LoopDevices;
  events: EventRecorder;
}

/** CSI volumes that containers see as devices. Layout and order: the real kubelet's (contract node.md §10). */
export class BlockVolumes {
  readonly #deps: BlockVolumesDeps;
  /** `{pod UID}/{volume}` that this run has published. */
  readonly #published = new Set<string>();

  constructor(deps: BlockVolumesDeps) {
    this.#deps = deps;
  }

  isPublished(podUid: string, name: string): boolean {
    return this.#published.has(`${podUid}/${name}`);
  }

  /** Stages, publishes and maps the device; gives its path on the host. */
  async setUp(context: VolumeContext, volume: CsiVolume): Promise<string> {
    const { clients, rootDir, files } = this.#deps;
    const { uid } = context.pod.metadata;
    const paths = blockPaths(rootDir, volume.name);
    const target = posix.join(paths.publishDir, uid);
    const key = `${uid}/${volume.name}`;
    if (this.#published.has(key)) return target;
    using client = clients.open(volume.driver);
    const publishContext = await this.#stage(context, volume, client, paths);
    context.signal.throwIfAborted();
    // First the link that shows that the pod has it: from then on it is taken down with the pod.
    const link = deviceLink(posix.join(rootDir, 'pods'), uid, CsiPluginName, volume.name);
    await linkDevice(files, link, target);
    await this.#publish(context, volume, client, { target, staging: paths.staging, publishContext });
    const mapped = await this.#map(paths, uid, target);
    this.#published.add(key);
    this.#tell(context, volume.name, mapped, link);
    return target;
  }

  /** Unmaps and unpublishes; the volume is unstaged by itself when it was the last pod's. */
  async release({ podUid, name, path }: PlacedVolume): Promise<void> {
    const { rootDir, files, mounts, log, loops, clients, staged } = this.#deps;
    const paths = blockPaths(rootDir, name);
    const data = await loadVolData(files, paths.dataDir);
    if (data === undefined) return;
    const { driverName: driver, volumeHandle: handle } = data;
    const mapped = posix.join(paths.mapDir, podUid);
    await loops.detach(mapped);
    for (const { mountPoint } of await mounts.below(mapped)) await mounts.unmount(mountPoint);
    await files.unlink(mapped);
    using client = clients.open(driver);
    this.#published.delete(`${podUid}/${name}`);
    const target = posix.join(paths.publishDir, podUid);
    await client.unpublish(handle, target);
    await removeMountDir({ files, mounts, log }, target, driver);
    // Nothing shows any more that the pod has it.
    await files.unlink(path);
    staged.drop({ driver, handle, name, isBlock: true }, podUid);
  }

  /** Unstages, and removes all that the node has of the volume. Nothing to do when there is no record of it. */
  async unstage({ name }: StagedVolume): Promise<void> {
    const { rootDir, files, mounts, clients } = this.#deps;
    const paths = blockPaths(rootDir, name);
    const data = await loadVolData(files, paths.dataDir);
    if (data === undefined) return;
    using client = clients.open(data.driverName);
    if (await client.supports('STAGE_UNSTAGE_VOLUME')) await client.unstage(data.volumeHandle, paths.staging);
    for (const dir of [paths.staging, paths.volumeDir]) {
      const [mounted] = await mounts.below(dir);
      if (mounted !== undefined) throw new VolumeError('host', `${mounted.mountPoint} is still mounted`);
    }
    await files.removeTree(paths.staging);
    await files.rmdir(paths.publishDir);
    await files.removeTree(paths.volumeDir);
  }

  async #stage(context: VolumeContext, volume: CsiVolume, client: CsiNodeClient, paths: BlockPaths): Promise<StringMap> {
    const { files, staged, attachments, objects, nodeName } = this.#deps;
    const { driver, handle, name, accessMode, attributes } = volume;
    const device: StagedVolume = { driver, handle, name, isBlock: true };
    staged.want(device, context.pod.metadata.uid);
    const publishContext = (await attachments.publishContext(device, context.signal)) ?? {};
    context.signal.throwIfAborted();
    await files.mkdir(paths.dataDir, 0o750);
    await saveVolData(files, paths.dataDir, podVolData({ name, handle, driver, nodeName }));
    if (!(await client.supports('STAGE_UNSTAGE_VOLUME'))) return publishContext;
    await staged.stage(device, async () => {
      const secrets = await secretOf(objects, volume.stageSecret, 'NodeStageSecretRef');
      await files.mkdir(paths.staging, 0o750);
      const request = { volumeId: handle, publishContext, stagingPath: paths.staging, secrets, volumeContext: attributes };
      await client.stage({ ...request, access: 'block', accessMode });
    });
    return publishContext;
  }

  async #publish(
    context: VolumeContext,
    volume: CsiVolume,
    client: CsiNodeClient,
    at: { target: string; staging: string; publishContext: StringMap },
  ): Promise<void> {
    const { files, mounts, log, objects } = this.#deps;
    const { driver, handle, attributes, accessMode, readOnly, mode } = volume;
    const [secrets, spec] = await Promise.all([
      secretOf(objects, volume.publishSecret, 'NodePublishSecretRef'),
      objects.driver(volume.driver),
    ]);
    const podInfo = spec?.podInfoOnMount === true ? podAttributes(context.pod, mode) : {};
    await files.mkdir(posix.dirname(at.target), 0o750);
    try {
      await client.publish({
        volumeId: handle,
        publishContext: at.publishContext,
        stagingPath: at.staging,
        targetPath: at.target,
        access: 'block',
        accessMode,
        readOnly,
        secrets,
        volumeContext: { ...attributes, ...podInfo },
      });
    } catch (err) {
      if (failureKind(err) === 'final') await removeMountDir({ files, mounts, log }, at.target, driver).catch(() => {});
      throw err;
    }
    if ((await files.stat(at.target)) === undefined) {
      throw new VolumeError('host', `the driver ${driver} answered that the device is published, and there is nothing at ${at.target}`);
    }
  }

  /** A second name of the device, held by a loop device: it stays the same one until it is let go. */
  async #map({ mapDir }: BlockPaths, podUid: string, device: string): Promise<string> {
    const { files, mounts, mounter, loops } = this.#deps;
    const mapped = posix.join(mapDir, podUid);
    await files.mkdir(mapDir, 0o750);
    if (!(await isMounted(mounts, mapped))) {
      await files.write(mapped, '', 0o644);
      await mounter.mount({ source: device, target: mapped, options: ['bind'] });
    }
    await loops.attach(mapped);
    return mapped;
  }

  #tell({ pod }: VolumeContext, name: string, mapped: string, link: string): void {
    const succeeded = `MapVolume.MapPodDevice succeeded for volume ${JSON.stringify(name)}`;
    for (const path of [`globalMapPath ${JSON.stringify(posix.dirname(mapped))}`, `volumeMapPath ${JSON.stringify(posix.dirname(link))}`]) {
      this.#deps.events.event(podEventObject(pod), 'Normal', 'SuccessfulMountVolume', `${succeeded} ${path}`);
    }
  }
}
