import type { Clock } from '../../host/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { Health, Service } from '../../observe/service.ts';
import type { ApiCsiObjects } from './csi-objects.ts';
import { uniqueVolumeName } from './names.ts';
import type { CsiOnDisk } from './on-disk.ts';
import type { StagedVolumes } from './staged-volumes.ts';

/** What an earlier run has staged, and no pod has, is unstaged after this: its pod may be about to be seen. Milliseconds. */
const LeftoversMs = 60_000;

export interface CsiVolumesServiceDeps {
  disk: Pick<CsiOnDisk, 'ofPods' | 'staged'>;
  staged: StagedVolumes;
  objects: Pick<ApiCsiObjects, 'knownDriver' | 'stop'>;
  clock: Clock;
  log: Logger;
  /** What is in use is known from now on. */
  changed(): void;
}

/** Finds the CSI volumes of an earlier run, and lets go of those that nobody wants any more. */
export class CsiVolumesService implements Service {
  readonly name = 'csi-volumes';
  readonly #deps: CsiVolumesServiceDeps;
  readonly #found = Promise.withResolvers<void>();
  #isFound = false;
  #work: Promise<void> = Promise.resolve();

  constructor(deps: CsiVolumesServiceDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): void {
    this.#work = this.#run(signal);
  }

  ready(): Promise<void> {
    return this.#found.promise;
  }

  health(): Health {
    return { ok: true };
  }

  async stop(): Promise<void> {
    this.#deps.staged.stop();
    await Promise.all([this.#work, this.#deps.objects.stop()]);
  }

  /** volumesInUse of the node's status: attachable volumes. Undefined until those of an earlier run are known. */
  inUse(): string[] | undefined {
    const { staged, objects } = this.#deps;
    if (!this.#isFound) return undefined;
    const attachable = staged.inUse().filter(({ driver }) => objects.knownDriver(driver)?.attachRequired !== false);
    return attachable.map(({ driver, handle }) => uniqueVolumeName(driver, handle)).sort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { disk, staged, clock, log, changed } = this.#deps;
    try {
      for (const { volume, podUid } of await disk.ofPods()) staged.want(volume, podUid);
      for (const volume of await disk.staged()) staged.found(volume);
    } catch (err) {
      log.error(err, 'Cannot get CSI volumes from disk');
    }
    this.#isFound = true;
    this.#found.resolve();
    changed();
    await clock.sleep(LeftoversMs, signal).catch(() => undefined);
    if (!signal.aborted) staged.sweep();
  }
}
