import { basename, dirname, join } from 'node:path';
import { type FileStamp, fileStamp } from './file-stamp.ts';
import { HeldWatches } from './held-watches.ts';

/**
 * Tells at once (inotify) when a directory's entries, or a file, change. The directory above is watched too, or the
 * nearest one that exists, so that a path which is created, replaced or renamed later is noticed. What stands behind a
 * symlink is not watched: the caller looks from time to time as well.
 */
export class PathWatch {
  readonly #path: string;
  readonly #watches: HeldWatches;

  /**
   * `changed` gets the name of the entry of the watched directory that changed, undefined where the path itself did, and
   * whether it came or went (a deletion and a creation are one such event each, a file renamed over another is one);
   * `failed` gets what keeps a watch from being set (such as no more inotify watches).
   */
  constructor(path: string, changed: (name: string | undefined, renamed: boolean) => void, failed: (error: unknown) => void) {
    this.#path = path;
    this.#watches = new HeldWatches((directory, name, renamed) => {
      if (directory === path) changed(name, renamed);
      // In a directory above, only the entry on the way to the path counts.
      else if (name === undefined || name === nextOnTheWay(directory, path)) changed(undefined, renamed);
    }, failed);
  }

  /** Sets the watches on what is there now. Cheap when nothing was replaced; call it before each look at the path. */
  async refresh(): Promise<void> {
    const wanted = new Map<string, string>();
    const self = await stampOf(this.#path);
    if (self?.kind === 'directory') wanted.set(this.#path, self.identity);
    for (let path = dirname(this.#path); ; path = dirname(path)) {
      const stamp = await stampOf(path);
      if (stamp?.kind === 'directory') {
        wanted.set(path, stamp.identity);
        break;
      }
      if (path === dirname(path)) break;
    }
    this.#watches.hold(wanted);
  }

  close(): void {
    this.#watches.close();
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
