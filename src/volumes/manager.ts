import type { Container, Pod, ResourceList, Volume } from '../api/types.ts';
import type { Mount } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { SlowFiles } from '../host/file-threads/file-threads.ts';
import type { Files } from '../host/files.ts';
import type { Mounter, Mounts } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import type { Random } from '../host/random.ts';
import { openBeneath, readHeld } from '../host/safe-path.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { AtomicWriter } from './atomic-writer.ts';
import { type ContainerMountsDeps, containerMounts, type EnvValue } from './container-mounts.ts';
import { type MountFailure, setUpFailure, UnmountedVolumesError } from './mount-errors.ts';
import { podDir, volumeDir } from './paths.ts';
import type { VolumePlugin } from './plugin.ts';
import { pluginFor, volumePlugins } from './plugin-table.ts';
import type { VolumeFields, VolumeObjects } from './ports.ts';
import { podsWithVolumes, tearDownPod } from './tear-down.ts';
import type { VolumeUsage } from './usage.ts';
import { isFinal, VolumeError } from './volume-error.ts';

/** Contract node.md §10, "wait for pod" and "retry of a failed op". */
const MountTimeoutMs = 123_000;
const FirstRetryMs = 500;
const MaxRetryMs = 122_000;

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
  /** {root}/pods. */
  podsDir: string;
  allocatable(): ResourceList;
  fields: VolumeFields;
  /** Absent on a node without an API server. */
  objects?: VolumeObjects | undefined;
  expandSubPath: ContainerMountsDeps['expandSubPath'];
  recursiveReadOnly(pod: Pod): boolean;
  selinux: boolean;
  /** The kernel can keep a tmpfs out of swap. */
  noSwap: boolean;
}

/**
 * Mounts and unmounts what pods name as volumes. It keeps no state: what is mounted is found from the pod, its directory
 * and mountinfo, so that a restart, also in the middle, changes nothing. Calls for one pod come one after another (its lane).
 */
export class VolumeManager {
  readonly #deps: VolumeManagerDeps;
  readonly #plugins: readonly VolumePlugin[];
  readonly #containerMounts: ContainerMountsDeps;

  constructor(deps: VolumeManagerDeps) {
    const { files, owned, clock, random, mounts, allocatable, noSwap, fields, objects } = deps;
    this.#deps = deps;
    this.#plugins = volumePlugins({
      files,
      owned,
      mounter: mounts,
      allocatable,
      noSwap,
      writer: new AtomicWriter({ files, owned, clock, random }),
      sources: { objects, fields },
    });
    const { podsDir, log, expandSubPath, recursiveReadOnly, selinux } = deps;
    const mounting = { files, owned, mounts, mounter: mounts };
    this.#containerMounts = { ...mounting, plugins: this.#plugins, podsDir, log, expandSubPath, recursiveReadOnly, selinux };
  }

  /**
   * Mounts the volumes that the pod's containers use, side by side; idempotent. A failed one is told in an event and tried
   * again, up to the contract's two minutes; then it rejects with UnmountedVolumesError. What cannot work ends the wait at once.
   */
  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + MountTimeoutMs;
    const hopeless = new AbortController();
    const retrying = AbortSignal.any([signal, hopeless.signal]);
    const outcomes = await Promise.all(
      volumes.map(async (volume) => {
        const failure = await this.#mountUntil(pod, volume, deadline, signal, retrying);
        if (failure?.isFinal === true) hopeless.abort();
        return failure;
      }),
    );
    signal.throwIfAborted();
    const failures = outcomes.filter((failure) => failure !== undefined);
    if (failures.length > 0) throw new UnmountedVolumesError(failures);
  }

  /** Brings the files of configMaps, secrets, tokens and fields up to date. Once a sync. A failure is told in an event and the old files stay. */
  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    const refreshed = usedVolumes(pod).filter((volume) => this.#plugins.some((p) => p.supports(volume) && p.refreshes));
    await Promise.all(
      refreshed.map(async (volume) => {
        try {
          await this.#setUp(pod, volume, signal);
        } catch (err) {
          if (!signal.aborted) this.#tell(pod, volume, err);
        }
      }),
    );
    signal.throwIfAborted();
  }

  /** Unmounts and removes all volumes of the pod that are on disk, whatever its spec says. Containers are stopped. */
  async unmount(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#tearDown(pod.metadata.uid);
    signal.throwIfAborted();
  }

  /** Unmounts volumes of pods that nobody knows any more: a crash, or another agent, left them. */
  async releaseUnknown(isKnown: (uid: string) => boolean): Promise<void> {
    const { files, podsDir, log } = this.#deps;
    for (const uid of await podsWithVolumes(files, podsDir)) {
      if (isKnown(uid)) continue;
      try {
        await this.#tearDown(uid);
        log.info('Cleaned up orphaned pod volumes', { podUID: uid });
      } catch (err) {
        log.error(err, 'Failed to clean up orphaned pod volumes', { podUID: uid });
      }
    }
  }

  /** What the runtime is told of the container's volumes; binds its sub paths. Rejects with the reason for its status. */
  mountsOf(pod: Pod, container: Container, env: readonly EnvValue[]): Promise<Mount[]> {
    return containerMounts(this.#containerMounts, pod, container, env);
  }

  /** A file in a volume of the pod, opened without leaving the volume; at most `maxBytes`. Rejects when it is not there. */
  async readFile(pod: Pod, name: string, path: string, maxBytes: number): Promise<Buffer> {
    const volume = pod.spec.volumes?.find((v) => v.name === name);
    if (volume === undefined) throw new VolumeError('not-found', `the pod has no volume ${JSON.stringify(name)}`);
    const plugin = pluginFor(this.#plugins, volume);
    const held = await openBeneath(volumeDir(this.#deps.podsDir, pod.metadata.uid, plugin.name, name), path);
    try {
      return await readHeld(held, maxBytes);
    } finally {
      await held.close();
    }
  }

  /** No kind that is mounted here brings a group: persistent volumes do. */
  groupsOf(_pod: Pod): number[] {
    return [];
  }

  /** What the pod's volumes hold. One that cannot be measured is left out; rejects when that is true of all. */
  async usageOf(pod: Pod): Promise<VolumeUsage[]> {
    const { clock, mounts, owned, slowFiles } = this.#deps;
    const measured = usedVolumes(pod).flatMap((volume) => {
      const plugin = this.#plugins.find((p) => p.supports(volume));
      return plugin?.usage === undefined ? [] : [{ volume, plugin }];
    });
    if (measured.length === 0) return [];
    // mountinfo holds resolved paths.
    const podsDir = await owned.realpath(this.#deps.podsDir);
    if (podsDir === undefined) return [];
    const mounted = new Set((await mounts.below(podDir(podsDir, pod.metadata.uid))).map((mount) => mount.mountPoint));
    const results = await Promise.allSettled(
      measured.map(async ({ volume, plugin }): Promise<VolumeUsage[]> => {
        const dir = volumeDir(podsDir, pod.metadata.uid, plugin.name, volume.name);
        const figures = await plugin.usage?.({ volume, dir, files: slowFiles, isMounted: (path) => mounted.has(path) });
        return figures === undefined ? [] : [{ volume: volume.name, plugin: plugin.name, measuredAtMs: clock.now(), ...figures }];
      }),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && results.every((result) => result.status === 'rejected')) throw failed.reason;
    return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  }

  async #mountUntil(
    pod: Pod,
    volume: Volume,
    deadline: number,
    signal: AbortSignal,
    retrying: AbortSignal,
  ): Promise<MountFailure | undefined> {
    const { clock } = this.#deps;
    for (let wait = FirstRetryMs; ; wait = Math.min(wait * 2, MaxRetryMs)) {
      try {
        await this.#setUp(pod, volume, signal);
        return undefined;
      } catch (cause) {
        const failure = { volume: volume.name, cause, isFinal: isFinal(cause) };
        if (signal.aborted) return failure;
        this.#tell(pod, volume, cause);
        if (failure.isFinal || retrying.aborted || clock.monotonic() + wait > deadline) return failure;
        await clock.sleep(wait, retrying).catch(() => {});
        if (retrying.aborted) return failure;
      }
    }
  }

  async #setUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<void> {
    const plugin = pluginFor(this.#plugins, volume);
    const dir = volumeDir(this.#deps.podsDir, pod.metadata.uid, plugin.name, volume.name);
    await plugin.setUp({ pod, volume, dir, fsGroup: pod.spec.securityContext?.fsGroup ?? undefined, signal });
  }

  #tearDown(uid: string): Promise<void> {
    const { podsDir, files, owned, mounts } = this.#deps;
    return tearDownPod({ plugins: this.#plugins, podsDir, files, owned, mounts, mounter: mounts }, uid);
  }

  #tell(pod: Pod, volume: Volume, cause: unknown): void {
    const { events } = this.#deps;
    const { namespace, name, uid } = pod.metadata;
    events.event({ kind: 'Pod', namespace, name, uid }, 'Warning', 'FailedMount', setUpFailure(volume.name, cause));
  }
}

/** The volumes that some container mounts: others are left alone, as the real kubelet does. */
function usedVolumes(pod: Pod): Volume[] {
  const { volumes = [], initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  if (volumes.length === 0) return [];
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  const used = new Set(all.flatMap((c) => [...(c.volumeMounts ?? []), ...(c.volumeDevices ?? [])].map(({ name }) => name)));
  return volumes.filter(({ name }) => used.has(name));
}
