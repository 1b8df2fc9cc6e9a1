import { posix } from 'node:path';
import type { Container, Pod, ResourceList, StringMap, Volume } from '../api/types.ts';
import type { Device, ImageSpec, Mount } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { SlowFiles } from '../host/file-threads/file-threads.ts';
import type { Files } from '../host/files.ts';
import type { Mounter, Mounts } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import type { Random } from '../host/random.ts';
import { openBeneath, readHeld } from '../host/safe-path.ts';
import type { Tools } from '../host/tools.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { AtomicWriter } from './atomic-writer.ts';
import { checkNodeAffinity, groupOf, resolveVolume } from './claims.ts';
import { type ContainerMountsDeps, containerMounts, type EnvValue } from './container-mounts.ts';
import { containerDevices, linkDevice } from './device-links.ts';
import { isUnresolved, setUpFailure, UnmountedVolumesError } from './mount-errors.ts';
import { podsWithVolumes } from './on-disk.ts';
import { Operations } from './operations.ts';
import { OrphanVolumes } from './orphans.ts';
import { deviceLink, volumeDir } from './paths.ts';
import type { VolumeContext, VolumePlugin } from './plugin.ts';
import { pluginFor, volumePlugins } from './plugin-table.ts';
import { operationOf, PodMounter } from './pod-mounter.ts';
import { podUsage } from './pod-usage.ts';
import type { PodCertificateSource, VolumeFields, VolumeObjects } from './ports.ts';
import { isClaim, plainVolume, type ResolvedVolume, usedVolumes } from './resolved-volume.ts';
import { tearDownPod } from './tear-down.ts';
import type { VolumeUsage } from './usage.ts';
import { VolumeError } from './volume-error.ts';
import { VolumeWorld } from './world.ts';

export interface VolumeManagerDeps {
  clock: Clock;
  random: Random;
  log: Logger;
  events: EventRecorder;
  files: Files;
  owned: OwnedFiles;
  mounts: Mounts & Mounter;
  /** For what may take long, or hang. */
  slowFiles: SlowFiles;
  /** For walks over whole volumes. */
  longFiles: SlowFiles;
  tools: Tools;
  /** {root}/pods. */
  podsDir: string;
  allocatable(): ResourceList;
  fields: VolumeFields;
  /** Absent on a node without an API server. */
  objects?: VolumeObjects | undefined;
  podCertificates?: PodCertificateSource | undefined;
  /** Labels of the Node's object; none without an API server. */
  nodeLabels?: (() => StringMap) | undefined;
  /** Kinds beside those that every node has. */
  plugins?: readonly VolumePlugin[] | undefined;
  expandSubPath: ContainerMountsDeps['expandSubPath'];
  recursiveReadOnly: ContainerMountsDeps['recursiveReadOnly'];
  selinux: boolean;
  /** The kernel can keep a tmpfs out of swap. */
  noSwap: boolean;
}

/** Longest that a sweep waits for one pod's volumes: one that hangs is not everybody's. Milliseconds. */
const SweepWaitMs = 5_000;

/**
 * Mounts and unmounts what pods name as volumes. It needs nothing of its memory: what is mounted is found from the pod, its
 * directory and mountinfo, so that a restart, also in the middle, changes nothing. Calls for one pod come one after another
 * (its lane).
 */
export class VolumeManager {
  readonly #deps: VolumeManagerDeps;
  readonly #plugins: readonly VolumePlugin[];
  readonly #containerMounts: ContainerMountsDeps;
  readonly #operations = new Operations();
  readonly #mounter: PodMounter;
  readonly #world = new VolumeWorld();
  readonly #orphans: OrphanVolumes;
  #reconstructed: Promise<void> | undefined;

  constructor(deps: VolumeManagerDeps) {
    const { clock, mounts, log, files, podsDir, expandSubPath, recursiveReadOnly, selinux, owned } = deps;
    this.#deps = deps;
    this.#plugins = [...basePlugins(deps), ...(deps.plugins ?? [])];
    const find = (pod: Pod, name: string) => this.#find(pod, name);
    const mounting = { files, owned, mounts, mounter: mounts, slowFiles: deps.slowFiles };
    this.#containerMounts = { ...mounting, find, podsDir, log, expandSubPath, recursiveReadOnly, selinux };
    this.#mounter = new PodMounter({
      clock,
      operations: this.#operations,
      setUp: (pod, volume, signal) => this.#setUp(pod, volume, signal),
      failed: (pod, volume, cause) => this.#tell(pod, volume, cause),
    });
    this.#orphans = new OrphanVolumes({ clock, log, waitMs: SweepWaitMs, tearDown: (uid) => this.#tearDown(uid) });
  }

  /** What pods want and what is there, as plain data. */
  get world(): Readonly<Pick<VolumeWorld, 'desired' | 'actual'>> {
    return this.#world;
  }

  /**
   * Mounts the volumes that the pod's containers use, side by side; idempotent. A failed one is told in an event and tried
   * again, up to the contract's two minutes; then it rejects with UnmountedVolumesError. What cannot work ends the wait at once.
   */
  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    await this.reconstruct();
    const failures = await this.#mounter.mount(pod, volumes, signal);
    if (failures.length > 0) throw new UnmountedVolumesError(failures);
  }

  /** An object that the pod refers to has appeared: its failed mounts are tried again at once. */
  poke(podUid: string): void {
    this.#mounter.poke(podUid);
  }

  /** Brings the files of configMaps, secrets, tokens and fields up to date. Once a sync. A failure is told in an event and the old files stay. */
  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    const refreshed = usedVolumes(pod).filter((volume) => this.#refreshes(pod, volume));
    await Promise.all(
      refreshed.map(async (volume) => {
        try {
          await this.#operations.run(operationOf(pod.metadata.uid, volume.name), () => this.#setUp(pod, volume, signal));
        } catch (err) {
          if (!signal.aborted) this.#tell(pod, volume, err);
        }
      }),
    );
    signal.throwIfAborted();
  }

  /** Unmounts and removes all volumes of the pod that are on disk, whatever its spec says. Containers are stopped. */
  async unmount(pod: Pod, signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#tearDown(pod.metadata.uid), signal);
  }

  /** Once: what is on disk is known as uncertain until its pod is looked at. What pods have then is theirs (ReadWriteOncePod). */
  reconstruct(): Promise<void> {
    const { files, podsDir, log } = this.#deps;
    this.#reconstructed ??= podsWithVolumes(files, podsDir).then(
      (found) => this.#world.reconstruct(found),
      (err: unknown) => log.error(err, 'Cannot get volumes from disk - skip sync states for volume reconstruction'),
    );
    return this.#reconstructed;
  }

  /** Unmounts volumes of pods that nobody knows any more: a crash, or another agent, left them. */
  async releaseUnknown(isKnown: (uid: string) => boolean): Promise<void> {
    const { files, podsDir } = this.#deps;
    await this.#orphans.release([...(await podsWithVolumes(files, podsDir)).keys()].filter((uid) => !isKnown(uid)));
  }

  /**
   * What the runtime is told of the container's volumes; binds its sub paths. `images` are those of its image volumes.
   * Rejects with the reason for its status.
   */
  mountsOf(pod: Pod, container: Container, env: readonly EnvValue[], images?: ReadonlyMap<string, ImageSpec>): Promise<Mount[]> {
    return containerMounts(this.#containerMounts, pod, container, env, images);
  }

  /** What the runtime is told of the container's block volumes. */
  devicesOf(pod: Pod, container: Container): Promise<Device[]> {
    return containerDevices(this.#deps.podsDir, pod, container, (name) => this.#find(pod, name));
  }

  /** A file in a volume of the pod, opened without leaving the volume; at most `maxBytes`. Rejects when it is not there. */
  async readFile(pod: Pod, name: string, path: string, maxBytes: number): Promise<Buffer> {
    const { plugin, resolved } = await this.#find(pod, name);
    const held = await openBeneath(volumeDir(this.#deps.podsDir, pod.metadata.uid, plugin.name, resolved.source.name), path);
    try {
      return await readHeld(held, maxBytes);
    } finally {
      await held.close();
    }
  }

  /** The groups that PersistentVolumes of the pod bring; its volumes are mounted. */
  groupsOf(pod: Pod): number[] {
    const groups = [...(this.#world.desired.get(pod.metadata.uid)?.values() ?? [])].map(groupOf);
    return [...new Set(groups.filter((group) => group !== undefined))];
  }

  /** What the pod's volumes hold. One that cannot be measured is left out; rejects when that is true of all. */
  async usageOf(pod: Pod): Promise<VolumeUsage[]> {
    const { clock, mounts, owned, slowFiles } = this.#deps;
    const resolved = usedVolumes(pod).map((volume) => this.#world.wanted(pod.metadata.uid, volume.name) ?? plainVolume(volume));
    return podUsage({ clock, mounts, owned, slowFiles, podsDir: this.#deps.podsDir, plugins: this.#plugins }, pod, resolved);
  }

  /** The volume as it was looked up when it was mounted, with its plug-in. */
  async #find(pod: Pod, name: string): Promise<{ plugin: VolumePlugin; resolved: ResolvedVolume }> {
    const volume = pod.spec.volumes?.find((v) => v.name === name);
    if (volume === undefined) throw new VolumeError('not-found', `the pod has no volume ${JSON.stringify(name)}`);
    const resolved = this.#world.wanted(pod.metadata.uid, name) ?? (await this.#resolve(pod, volume));
    return { plugin: pluginFor(this.#plugins, resolved.source), resolved };
  }

  /** A claim is looked up until it has led to a volume: what it is bound to never changes. */
  async #resolve(pod: Pod, volume: Volume): Promise<ResolvedVolume> {
    const { objects, nodeLabels = () => ({}) } = this.#deps;
    const known = isClaim(volume) ? this.#world.wanted(pod.metadata.uid, volume.name) : undefined;
    return known ?? resolveVolume({ objects, nodeLabels }, pod, volume);
  }

  /** Of a claim that this run has not looked up yet nobody knows. */
  #refreshes({ metadata }: Pod, volume: Volume): boolean {
    const known = this.#world.wanted(metadata.uid, volume.name)?.source;
    if (known === undefined && isClaim(volume)) return this.#deps.objects !== undefined;
    return this.#plugins.some((plugin) => plugin.refreshes && plugin.supports(known ?? volume));
  }

  async #setUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<void> {
    const { podsDir, files, nodeLabels = () => ({}) } = this.#deps;
    const { uid } = pod.metadata;
    const resolved = await this.#resolve(pod, volume);
    const { source, persistent, readOnly, isBlock, mountOptions } = resolved;
    const plugin = pluginFor(this.#plugins, source);
    checkNodeAffinity({ nodeLabels }, resolved);
    if (mountOptions.length > 0 && plugin.takesMountOptions !== true) {
      throw new VolumeError('invalid', 'Mount options are not supported for this volume type');
    }
    if (this.#world.otherUser(uid, plugin.name, resolved) !== undefined) {
      throw new VolumeError('invalid', 'volume uses the ReadWriteOncePod access mode and is already in use by another pod');
    }
    this.#world.want(uid, resolved);
    const placed = { podUid: uid, name: source.name, plugin: plugin.name, isBlock };
    const dir = volumeDir(podsDir, uid, plugin.name, source.name);
    const fsGroup = pod.spec.securityContext?.fsGroup ?? undefined;
    const context = { pod, volume: source, dir, fsGroup, persistent, readOnly, mountOptions, signal };
    try {
      if (isBlock) await linkDevice(files, deviceLink(podsDir, uid, plugin.name, source.name), await setUpDevice(plugin, context));
      else await plugin.setUp(context);
      this.#world.note({ ...placed, state: 'mounted' });
    } catch (err) {
      this.#world.note({ ...placed, state: 'uncertain' });
      throw err;
    }
  }

  /** What is still being mounted is waited for: it would be there after all. Another call for the same pod waits for this one. */
  #tearDown(uid: string): Promise<void> {
    const { podsDir, files, owned, mounts } = this.#deps;
    return this.#operations.run(`tear down ${uid}`, async () => {
      await this.#operations.settled(operationOf(uid, ''));
      await tearDownPod({ plugins: this.#plugins, podsDir, files, owned, mounts, mounter: mounts }, uid);
      this.#world.forget(uid);
      for (const plugin of this.#plugins) plugin.forgetPod?.(uid);
      this.#mounter.forget(uid);
      this.#deps.podCertificates?.forgetPod(uid);
    });
  }

  #tell(pod: Pod, volume: Volume, cause: unknown): void {
    // A claim that leads nowhere is told once, with the event of the whole pod.
    if (isUnresolved(cause)) return;
    const resolved = this.#world.wanted(pod.metadata.uid, volume.name);
    const isBlock = resolved?.isBlock === true;
    const text = setUpFailure(resolved?.source.name ?? volume.name, cause, isBlock);
    this.#deps.events.event(podEventObject(pod), 'Warning', isBlock ? 'FailedMapVolume' : 'FailedMount', text);
  }
}

/** Rejects with the signal's reason when it aborts first: what is under way goes on, and is joined by whoever asks again. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function setUpDevice(plugin: VolumePlugin, context: VolumeContext): Promise<string> {
  if (plugin.setUpDevice !== undefined) return plugin.setUpDevice(context);
  throw new VolumeError('invalid', `volumes of the plug-in ${plugin.name} cannot be block devices`);
}

function basePlugins(deps: VolumeManagerDeps): VolumePlugin[] {
  const { files, owned, clock, random, podsDir, mounts, fields, objects, podCertificates } = deps;
  const rootDir = posix.dirname(podsDir);
  return volumePlugins({
    ...deps,
    mounter: mounts,
    writer: new AtomicWriter({ files, owned, clock, random }),
    sources: { objects, fields, podCertificates },
    rootDir: async () => (await owned.realpath(rootDir)) ?? rootDir,
  });
}
