import { posix } from 'node:path';
import type { Files } from '../../host/files.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Logger } from '../../observe/log.ts';
import type { PlacedVolume, VolumeContext } from '../plugin.ts';
import { VolumeError } from '../volume-error.ts';
import type { Attachments } from './attach.ts';
import { failureKind } from './csi-error.ts';
import type { CsiObjects, DriverSpec } from './csi-objects.ts';
import type { CsiClients } from './drivers.ts';
import { changesGroup, checkLifecycleMode } from './fs-group-policy.ts';
import { stagingPath } from './names.ts';
import type { CsiNodeClient, StringMap } from './node-client.ts';
import { type DriverTokens, mountAccess, publishParts, secretOf } from './publish.ts';
import { removeMountDir } from './remove-mount-dir.ts';
import type { CsiVolume } from './source.ts';
import type { StagedVolume, StagedVolumes } from './staged-volumes.ts';
import { loadVolData, podVolData, removeVolData, saveVolData } from './vol-data.ts';

export interface CsiVolumesDeps {
  rootDir: string;
  nodeName: string;
  files: Files;
  mounts: Mounts;
  log: Logger;
  clients: CsiClients;
  objects: CsiObjects;
  tokens: DriverTokens;
  attachments: Pick<Attachments, 'publishContext'>;
  staged: StagedVolumes;
  /** Gives the files of a mounted volume to the pod's group. */
  giveToGroup(context: VolumeContext, path: string): Promise<void>;
}

const MountName = 'mount';

/** Where the driver is to put the volume, and the containers find it. */
export const targetOf = (dir: string) => posix.join(dir, MountName);

/** How a try to publish came about; decides what a failure may remove. */
type Occasion = 'first' | 'again';

/** CSI volumes that are file systems or directories. */
export class FsVolumes {
  readonly #deps: CsiVolumesDeps;
  /** Directories whose volume this run has published. */
  readonly #published = new Set<string>();
  /** Those that it has tried to: what is there is this run's. */
  readonly #tried = new Set<string>();

  constructor(deps: CsiVolumesDeps) {
    this.#deps = deps;
  }

  /** Whether there is nothing to be done for the volume but what the driver wants repeated. */
  isPublished(dir: string): boolean {
    return this.#published.has(dir);
  }

  /**
   * Stages and publishes. Published again when this run has not done it, or the driver wants it (requiresRepublish). Calls to the
   * driver are never given up when the pod stops: what it began, it ends, and then the volume is taken down.
   */
  async setUp(context: VolumeContext, volume: CsiVolume): Promise<void> {
    const { clients, objects } = this.#deps;
    const { dir } = context;
    const driver = await objects.driver(volume.driver);
    if (this.#published.has(dir) && driver?.requiresRepublish !== true) return;
    using client = clients.open(volume.driver);
    checkLifecycleMode(volume, driver === undefined ? undefined : (driver.volumeLifecycleModes ?? []));
    const { fsGroup, signal } = context;
    const byAgent = changesGroup(volume, fsGroup, driver);
    const publishContext = volume.mode === 'Persistent' ? await this.#stage(context, volume, client) : {};
    const group = (await client.supports('VOLUME_MOUNT_GROUP')) ? fsGroup : undefined;
    signal.throwIfAborted();
    await this.#publish(context, volume, { client, driver, publishContext, group });
    if (group === undefined && byAgent) await this.#deps.giveToGroup(context, targetOf(dir));
    this.#published.add(dir);
  }

  /** Unpublishes; the volume is unstaged by itself when it was the last pod's. */
  async release({ path: dir, podUid, name }: PlacedVolume): Promise<void> {
    const { files, mounts, clients, log, staged } = this.#deps;
    const data = await loadVolData(files, dir);
    if (data === undefined) return;
    const { driverName: driver, volumeHandle: handle } = data;
    using client = clients.open(driver);
    this.#published.delete(dir);
    await client.unpublish(handle, targetOf(dir));
    await removeMountDir({ files, mounts, log }, targetOf(dir), driver);
    await removeVolData(files, dir);
    this.#tried.delete(dir);
    if (data.volumeLifecycleMode !== 'Ephemeral') staged.drop({ driver, handle, name, isBlock: false }, podUid);
  }

  /** Removes what is left of a volume where nothing is mounted: never what may be data. */
  async tearDown(dir: string): Promise<void> {
    const { files } = this.#deps;
    await files.rmdir(targetOf(dir));
    await removeVolData(files, dir);
    await files.rmdir(dir);
  }

  /** Unstages; nothing to do when there is no record of it. */
  async unstage({ driver, handle }: StagedVolume): Promise<void> {
    const { files, mounts, log, clients, rootDir } = this.#deps;
    const path = stagingPath(rootDir, driver, handle);
    const dir = posix.dirname(path);
    if ((await loadVolData(files, dir)) === undefined) return;
    using client = clients.open(driver);
    if (await client.supports('STAGE_UNSTAGE_VOLUME')) await client.unstage(handle, path);
    await removeMountDir({ files, mounts, log }, path, driver);
    await removeVolData(files, dir);
    await files.rmdir(dir);
  }

  async #stage(context: VolumeContext, volume: CsiVolume, client: CsiNodeClient): Promise<StringMap> {
    const { files, staged, attachments, objects, rootDir, mounts, log } = this.#deps;
    const { driver, handle, name, accessMode, attributes } = volume;
    const path = stagingPath(rootDir, driver, handle);
    const device: StagedVolume = { driver, handle, name, isBlock: false };
    staged.want(device, context.pod.metadata.uid);
    const publishContext = (await attachments.publishContext(device, context.signal)) ?? {};
    if (!(await client.supports('STAGE_UNSTAGE_VOLUME'))) return publishContext;
    await staged.stage(device, async () => {
      const secrets = await secretOf(objects, volume.stageSecret, 'NodeStageSecretRef');
      const group = (await client.supports('VOLUME_MOUNT_GROUP')) ? context.fsGroup : undefined;
      context.signal.throwIfAborted();
      await files.mkdir(path, 0o750);
      await saveVolData(files, posix.dirname(path), { volumeHandle: handle, driverName: driver });
      try {
        const access = mountAccess(volume, group);
        await client.stage({ volumeId: handle, publishContext, stagingPath: path, access, accessMode, secrets, volumeContext: attributes });
      } catch (err) {
        if (failureKind(err) === 'final') {
          await removeMountDir({ files, mounts, log }, path, driver).catch(() => {});
          await removeVolData(files, posix.dirname(path));
          await files.rmdir(posix.dirname(path)).catch(() => {});
        }
        throw err;
      }
    });
    return publishContext;
  }

  async #publish(
    context: VolumeContext,
    volume: CsiVolume,
    how: { client: CsiNodeClient; driver: DriverSpec | undefined; publishContext: StringMap; group: number | undefined },
  ): Promise<void> {
    const { files, nodeName, rootDir } = this.#deps;
    const { dir, pod } = context;
    const { driver, handle, name, mode, accessMode, readOnly } = volume;
    const { client, publishContext, group } = how;
    const parts = await publishParts(this.#deps, pod, volume, how.driver);
    const canStage = mode === 'Persistent' && (await client.supports('STAGE_UNSTAGE_VOLUME'));
    context.signal.throwIfAborted();
    const wasThere = (await loadVolData(files, dir).catch(() => undefined)) !== undefined;
    const occasion: Occasion = this.#published.has(dir) || (wasThere && !this.#tried.has(dir)) ? 'again' : 'first';
    await files.mkdir(dir, 0o750);
    await saveVolData(files, dir, podVolData({ name, handle, driver, nodeName, mode }));
    this.#tried.add(dir);
    try {
      await client.publish({
        volumeId: handle,
        publishContext,
        stagingPath: canStage ? stagingPath(rootDir, driver, handle) : undefined,
        targetPath: targetOf(dir),
        access: mountAccess(volume, group),
        accessMode,
        readOnly,
        ...parts,
      });
    } catch (err) {
      if (failureKind(err) === 'final' && occasion === 'first') await this.#forgetTry(dir, volume);
      throw err;
    }
    if ((await files.lstat(targetOf(dir))) === undefined) {
      throw new VolumeError('host', `the driver ${driver} answered that the volume is published, and there is nothing at ${targetOf(dir)}`);
    }
  }

  /**
   * After a failure that left nothing. The record of a volume that may be staged stays, so that it is unstaged with its pod, also
   * after a restart.
   */
  async #forgetTry(dir: string, { driver, mode }: CsiVolume): Promise<void> {
    const { files, mounts, log } = this.#deps;
    await removeMountDir({ files, mounts, log }, targetOf(dir), driver).catch(() => {});
    if (mode === 'Persistent') return;
    await removeVolData(files, dir);
    await files.rmdir(dir).catch(() => {});
  }
}
