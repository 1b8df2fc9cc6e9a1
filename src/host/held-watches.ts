import { type FSWatcher, watch } from 'node:fs';

/** Watches (inotify) on some directories, each held to the very directory that had the name when it was set. */
export class HeldWatches {
  readonly #told: (directory: string, name: string | undefined, renamed: boolean) => void;
  readonly #failed: (error: unknown) => void;
  readonly #watchers = new Map<string, { watcher: FSWatcher; identity: string }>();

  /** `told` gets each change of an entry; `failed` what keeps a watch from being set (such as no more inotify watches), or ended it. */
  constructor(told: (directory: string, name: string | undefined, renamed: boolean) => void, failed: (error: unknown) => void) {
    this.#told = told;
    this.#failed = failed;
  }

  /** The directories to watch from now on with their `identity` (FileStamp); one that was replaced under its name is watched anew. */
  hold(wanted: ReadonlyMap<string, string>): void {
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
      const watcher = watch(path, { persistent: false }, (event, name) => this.#told(path, name ?? undefined, event === 'rename'));
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
