import { type FSWatcher, watch } from 'node:fs';
import { fileStamp } from './file-stamp.ts';

/**
 * Tells at once (inotify) when an entry of one of some directories comes or goes. Where a watch cannot be set, `failed` gets
 * the reason: the caller looks from time to time as well.
 */
export class DirectoriesWatch {
  readonly #changed: () => void;
  readonly #failed: (error: unknown) => void;
  readonly #watchers = new Map<string, { watcher: FSWatcher; identity: string }>();

  constructor(changed: () => void, failed: (error: unknown) => void) {
    this.#changed = changed;
    this.#failed = failed;
  }

  /** The directories to watch from now on; one that was replaced under its name is watched anew. */
  async set(directories: readonly string[]): Promise<void> {
    const wanted = new Map<string, string>();
    for (const path of directories) {
      const stamp = await fileStamp(path).catch(() => undefined);
      if (stamp?.kind === 'directory') wanted.set(path, stamp.identity);
    }
    for (const [path, { watcher, identity }] of this.#watchers) {
      if (wanted.get(path) === identity) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
    for (const [path, identity] of wanted) if (!this.#watchers.has(path)) this.#add(path, identity);
  }

  close(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #add(path: string, identity: string): void {
    try {
      const watcher = watch(path, { persistent: false }, (event) => {
        if (event === 'rename') this.#changed();
      });
      watcher.on('error', (error) => {
        watcher.close();
        if (this.#watchers.get(path)?.watcher === watcher) this.#watchers.delete(path);
        this.#failed(error);
      });
      this.#watchers.set(path, { watcher, identity });
    } catch (error) {
      this.#failed(error);
    }
  }
}
