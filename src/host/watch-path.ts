import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type FileStamp, fileStamp } from './file-stamp.ts';

/**
 * Tells at once (inotify) when a directory's entries, or a file, change. The directory above is watched too, or the
 * nearest one that exists, so that a path which is created, replaced or renamed later is noticed. What stands behind a
 * symlink is not watched: the caller looks from time to time as well.
 */
export class PathWatch {
  readonly #path: string;
  readonly #changed: (name: string | undefined, renamed: boolean) => void;
  readonly #failed: (error: unknown) => void;
  readonly #watchers = new Map<string, { watcher: FSWatcher; identity: string }>();

  /**
   * `changed` gets the name of the entry of the watched directory that changed, undefined where the path itself did, and
   * whether it came or went (a deletion and a creation are one such event each, a file renamed over another is one);
   * `failed` gets what keeps a watch from being set (such as no more inotify watches).
   */
  constructor(path: string, changed: (name: string | undefined, renamed: boolean) => void, failed: (error: unknown) => void) {
    this.#path = path;
    this.#changed = changed;
    this.#failed = failed;
  }

  /** Sets the watches on what is there now. Cheap when nothing was replaced; call it before each look at the path. */
  async refresh(): Promise<void> {
    const wanted = new Map<string, FileStamp>();
    const self = await stampOf(this.#path);
    if (self?.kind === 'directory') wanted.set(this.#path, self);
    for (let path = dirname(this.#path); ; path = dirname(path)) {
      const stamp = await stampOf(path);
      if (stamp?.kind === 'directory') {
        wanted.set(path, stamp);
        break;
      }
      if (path === dirname(path)) break;
    }
    for (const [path, { watcher, identity }] of this.#watchers) {
      if (wanted.get(path)?.identity === identity) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
    for (const [path, { identity }] of wanted) if (!this.#watchers.has(path)) this.#add(path, identity);
  }

  close(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #add(path: string, identity: string): void {
    // In a directory above, only the entry on the way to the path counts.
    const only = path === this.#path ? undefined : nextOnTheWay(path, this.#path);
    try {
      const watcher = watch(path, { persistent: false }, (event, name) => {
        const renamed = event === 'rename';
        if (only === undefined) this.#changed(name ?? undefined, renamed);
        else if (name === null || name === only) this.#changed(undefined, renamed);
      });
      watcher.on('error', (error) => {
        watcher.close();
        this.#watchers.delete(path);
        this.#failed(error);
      });
      this.#watchers.set(path, { watcher, identity });
    } catch (error) {
      this.#failed(error);
    }
  }
}

function nextOnTheWay(from: string, to: string): string {
  let path = to;
  while (dirname(path) !== from && path !== dirname(path)) path = dirname(path);
  return basename(join(path));
}

async function stampOf(path: string): Promise<FileStamp | undefined> {
  try {
    return await fileStamp(path);
  } catch {
    return undefined;
  }
}
