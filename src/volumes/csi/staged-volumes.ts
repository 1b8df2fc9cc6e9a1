import type { Clock } from '../../host/clock.ts';
import { Turns } from '../../host/turns.ts';
import type { Logger } from '../../observe/log.ts';
import { FirstRetryMs, MaxRetryMs } from '../pod-mounter.ts';
import { textOf } from '../volume-error.ts';

/** What is staged once for all pods of the node that use it. */
export interface StagedVolume {
  driver: string;
  handle: string;
  /** Of the PersistentVolume. */
  name: string;
  isBlock: boolean;
}

export interface StagedVolumesDeps {
  clock: Clock;
  log: Logger;
  /** Whether a pod has the volume, as the disk shows it: pods of an earlier run are not in memory. */
  isUsedOnDisk(volume: StagedVolume): Promise<boolean>;
  /** Idempotent; also when nothing is staged. */
  unstage(volume: StagedVolume): Promise<void>;
  /** What is in use has changed. */
  changed(): void;
}

/** The identity of a volume on a node. */
export const keyOf = ({ driver, handle }: Pick<StagedVolume, 'driver' | 'handle'>) => `${driver}^${handle}`;

interface Entry {
  volume: StagedVolume;
  /** UIDs of pods. */
  users: Set<string>;
  isStaged: boolean;
  /** It is being unstaged, or is to be. */
  leaving: boolean;
}

/**
 * Stages a volume before its first pod and unstages it after the last one, one after the other for each volume. Unstaging is no
 * pod's business any more: it is tried until it has worked, or until a pod wants the volume again.
 */
export class StagedVolumes {
  readonly #deps: StagedVolumesDeps;
  readonly #entries = new Map<string, Entry>();
  /** What is done to a volume, one after another. */
  readonly #turns = new Turns();
  readonly #stop = new AbortController();

  constructor(deps: StagedVolumesDeps) {
    this.#deps = deps;
  }

  /** Volumes that are in use on this node, or may be. */
  inUse(): StagedVolume[] {
    return [...this.#entries.values()].map(({ volume }) => volume);
  }

  /** The pod wants the volume from now on. */
  want(volume: StagedVolume, podUid: string): void {
    this.#entryOf(volume).users.add(podUid);
  }

  /** Runs `stage` unless it has worked since the start of the agent: then the volume is there. */
  async stage(volume: StagedVolume, stage: () => Promise<void>): Promise<void> {
    const entry = this.#entries.get(keyOf(volume));
    if (entry === undefined) throw new Error(`nobody wants the volume ${volume.name}`);
    await this.#turns.run(keyOf(volume), async () => {
      if (entry.isStaged) return;
      await stage();
      entry.isStaged = true;
    });
  }

  /** Found on disk: of pods that are on their way, or left over. */
  found(volume: StagedVolume): void {
    this.#entryOf(volume);
  }

  /** The pod has it no more. Unstaging goes on by itself. */
  drop(volume: StagedVolume, podUid: string): void {
    const entry = this.#entryOf(volume);
    entry.users.delete(podUid);
    this.#leave(entry);
  }

  /** The pod has nothing any more. */
  dropPod(podUid: string): void {
    for (const entry of this.#entries.values()) if (entry.users.delete(podUid)) this.#leave(entry);
  }

  /** Lets go of what nobody uses. */
  sweep(): void {
    for (const entry of this.#entries.values()) if (entry.users.size === 0) this.#leave(entry);
  }

  /** Nothing is tried again. What a driver is doing is not waited for: the next run goes on from the disk. */
  stop(): void {
    this.#stop.abort();
  }

  #leave(entry: Entry): void {
    if (entry.leaving || entry.users.size > 0) return;
    entry.leaving = true;
    void this.#unstage(entry).finally(() => {
      entry.leaving = false;
    });
  }

  async #unstage(entry: Entry): Promise<void> {
    const { clock, log, unstage, isUsedOnDisk, changed } = this.#deps;
    const { volume } = entry;
    for (let wait = FirstRetryMs; !this.#stop.signal.aborted; wait = Math.min(wait * 2, MaxRetryMs)) {
      try {
        return await this.#turns.run(keyOf(volume), async () => {
          if (entry.users.size > 0 || (await isUsedOnDisk(volume))) return;
          // Whatever comes of it: who wants it next stages it anew.
          entry.isStaged = false;
          await unstage(volume);
          if (entry.users.size > 0) return;
          this.#entries.delete(keyOf(volume));
          changed();
        });
      } catch (err) {
        log.error(err, 'Failed to unstage the CSI volume, will retry', {
          volume: volume.name,
          driver: volume.driver,
          delayMilliseconds: wait,
          reason: textOf(err),
        });
      }
      await clock.sleep(wait, this.#stop.signal).catch(() => undefined);
      if (entry.users.size > 0) return;
    }
  }

  /** A new one is in use from now on. */
  #entryOf(volume: StagedVolume): Entry {
    const known = this.#entries.get(keyOf(volume));
    if (known !== undefined) return known;
    const entry: Entry = { volume, users: new Set(), isStaged: false, leaving: false };
    this.#entries.set(keyOf(volume), entry);
    this.#deps.changed();
    return entry;
  }
}
