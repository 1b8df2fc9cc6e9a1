import { fileStamp } from './file-stamp.ts';
import { HeldWatches } from './held-watches.ts';

/**
 * Tells at once (inotify) when an entry of one of some directories comes or goes. Where a watch cannot be set, `failed` gets
 * the reason: the caller looks from time to time as well.
 */
export class DirectoriesWatch {
  readonly #watches: HeldWatches;

  constructor(changed: () => void, failed: (error: unknown) => void) {
    this.#watches = new HeldWatches((_directory, _name, renamed) => {
      if (renamed) changed();
    }, failed);
  }

  /** The directories to watch from now on; one that was replaced under its name is watched anew. */
  async set(directories: readonly string[]): Promise<void> {
    const wanted = new Map<string, string>();
    for (const path of directories) {
      const stamp = await fileStamp(path).catch(() => undefined);
      if (stamp?.kind === 'directory') wanted.set(path, stamp.identity);
    }
    this.#watches.hold(wanted);
  }

  close(): void {
    this.#watches.close();
  }
}
