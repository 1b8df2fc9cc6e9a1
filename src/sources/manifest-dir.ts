import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { dropDuplicates, duplicateMessage, type FilePod } from './drop-duplicates.ts';
import { ManifestError } from './manifest-error.ts';
import { type Listed, ManifestFiles, manifestErrors } from './manifest-files.ts';
import { type ManifestFs, nodeManifestFs } from './manifest-fs.ts';
import type { ListsManifests, ManifestListing } from './manifest-listing.ts';
import { ManifestReader } from './manifest-reader.ts';
import { priorityWarning } from './priority-warning.ts';
import { Recreated } from './recreated.ts';
import { SeenPods } from './seen-pods.ts';
import type { PodSet, PodSource } from './types.ts';

/** Several notices of one change (create, write, close) become one look; short, since a pod waits for it. */
const SettleMs = 3;

export interface ManifestDirOptions {
  /** A directory of manifests, or one manifest. It need not exist yet. */
  path: string;
  nodeName: string;
  /** How often everything is looked at again, whatever the watch said. */
  fileCheckFrequencyMs: number;
  clock: Clock;
  log: Logger;
  events?: EventRecorder;
  /** The machine's, where none is given. */
  fs?: ManifestFs;
}

/**
 * Static pods from a directory or a file (contract: pod-lifecycle.md §1): watched, and listed again from time to time.
 * A bad manifest takes no other with it; it is logged when it changes and listed with its errors.
 */
export class ManifestDir implements PodSource, ListsManifests {
  readonly name = 'file';
  readonly #options: ManifestDirOptions;
  readonly #path: string;
  #set: PodSet = { pods: [], errors: [] };
  #logged = new Set<string>();
  readonly #warned = new Set<string>();

  constructor(options: ManifestDirOptions) {
    this.#options = options;
    this.#path = options.path.replace(/(?<=.)\/+$/, '');
  }

  listing(): ManifestListing {
    return { source: 'file', location: this.#path, ...this.#set };
  }

  async *sets(signal: AbortSignal): AsyncGenerator<PodSet> {
    const { clock, log, nodeName, fileCheckFrequencyMs, fs = nodeManifestFs } = this.#options;
    const pause = new Pause(clock);
    const reader = new ManifestReader(clock);
    const seen = new SeenPods('file', clock);
    const files = new ManifestFiles(fs, this.#path, nodeName, reader, seen);
    let touched = new Set<string | undefined>();
    const recreated = new Recreated(fs, this.#path);
    const watch = fs.watch(
      this.#path,
      (name, renamed) => {
        touched.add(name);
        if (name !== undefined && renamed) recreated.note(name);
        pause.poke();
      },
      (error) => log.warn('Cannot watch the manifest path, changes are found by looking', { path: this.#path, err: error }),
    );
    log.debug(1, 'Watching path', { path: this.#path });
    try {
      for (let isFirst = true; !signal.aborted; ) {
        await watch.refresh();
        const now = touched;
        touched = new Set();
        // Removed and written again, even with the same words: the pod goes and comes, as the kubelet's own watch has it.
        const without = files.withdraw(await recreated.take());
        if (without !== undefined && !isFirst) {
          this.#set = this.#toSet(without);
          yield this.#set;
        }
        const found = await this.#list(files, now);
        if (signal.aborted) return;
        if (found && (found.changed || isFirst)) {
          // A single manifest that went bad takes nothing away, and a bad one at first gives no set, as in the kubelet.
          const isBad = found.kind === 'single' && found.files.every((file) => file.faults.length > 0);
          const { pods, errors } = this.#toSet(found);
          this.#set = { pods: isBad ? this.#set.pods : pods, errors };
          seen.keep(this.#set.pods);
          if (!(isBad && isFirst)) {
            isFirst = false;
            yield this.#set;
          }
        }
        if (touched.size === 0) await pause.wait(fileCheckFrequencyMs, signal);
        if (!signal.aborted && touched.size > 0) await clock.sleep(SettleMs);
      }
    } finally {
      watch.close();
      await reader.close();
    }
  }

  /** Undefined when the path itself cannot be looked at. */
  async #list(files: ManifestFiles, touched: ReadonlySet<string | undefined>): Promise<Listed | undefined> {
    try {
      return await files.list(touched);
    } catch (error) {
      this.#logOnce(`path ${String(error)}`, () => this.#options.log.error(error, 'Unable to read config path', { path: this.#path }));
      return undefined;
    }
  }

  #toSet({ files, kind }: Listed): PodSet {
    const pods = files.flatMap((file) => file.pods.map((pod): FilePod => ({ pod, file: file.path })));
    const { kept, dropped } = dropDuplicates(pods);
    const errors = [...files.flatMap(manifestErrors), ...dropped.map(({ fault }) => new ManifestError(fault))];
    const before = this.#logged;
    this.#logged = new Set();
    if (kind === 'missing') this.#logMissing(before);
    for (const error of errors) this.#report(error, before);
    for (const { pod, fault } of dropped) if (!before.has(new ManifestError(fault).message)) this.#recordDuplicate(pod);
    for (const { pod } of kept) this.#warn(pod);
    return { pods: kept.map(({ pod }) => pod), errors };
  }

  #report(error: ManifestError, before: ReadonlySet<string>): void {
    this.#logged.add(error.message);
    if (before.has(error.message)) return;
    const { file, line, column } = error;
    const place = line === undefined ? {} : { line, column };
    this.#options.log.error(error, 'Could not process manifest file', { path: file, ...place });
  }

  /** Each warning once, for the first pod that earns it. */
  #warn(pod: Pod): void {
    const warning = priorityWarning(pod);
    if (warning === undefined || this.#warned.has(warning)) return;
    this.#warned.add(warning);
    this.#options.log.info(warning, { pod: `${pod.metadata.namespace}/${pod.metadata.name}` });
  }

  #recordDuplicate(pod: Pod): void {
    this.#options.events?.event(podEventObject(pod), 'Warning', 'FailedValidation', duplicateMessage(pod, this.name));
  }

  #logMissing(before: ReadonlySet<string>): void {
    const key = 'missing';
    this.#logged.add(key);
    if (!before.has(key)) this.#options.log.warn('The manifest path does not exist, which counts as empty', { path: this.#path });
  }

  #logOnce(key: string, log: () => void): void {
    if (!this.#logged.has(key)) log();
    this.#logged.add(key);
  }
}
