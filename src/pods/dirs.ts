import { posix } from 'node:path';
import type { Pod } from '../api/types.ts';
import { type Files, isErrno } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';

export interface PodDirectoriesDeps {
  files: Files;
  log: Logger;
  /** {root}/pods. */
  podsDir: string;
  /** Mount points at or below a path. */
  mountsBelow(path: string): Promise<string[]>;
}

/** The directories of pods under the root directory (contract: pod-lifecycle §4 step 9, node.md §10 and §14). */
export class PodDirectories {
  readonly #deps: PodDirectoriesDeps;

  constructor(deps: PodDirectoriesDeps) {
    this.#deps = deps;
  }

  path(uid: string): string {
    return posix.join(this.#deps.podsDir, uid);
  }

  async make(pod: Pod): Promise<void> {
    const { files } = this.#deps;
    const dir = this.path(pod.metadata.uid);
    await files.mkdir(dir, 0o750);
    await Promise.all([files.mkdir(posix.join(dir, 'volumes'), 0o750), files.mkdir(posix.join(dir, 'plugins'), 0o750)]);
  }

  /** Removes directories of pods that nobody knows; one with something mounted in it is left alone and told of. */
  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const { files, log, podsDir, mountsBelow } = this.#deps;
    let entries: Awaited<ReturnType<Files['list']>>;
    try {
      entries = await files.list(podsDir);
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return;
      throw err;
    }
    for (const { name, kind } of entries) {
      if (kind !== 'directory' || isKnown(name)) continue;
      const mounts = await mountsBelow(this.path(name));
      if (mounts.length > 0) {
        log.error(undefined, 'Orphaned pod found, but volumes are still mounted', { podUID: name, mounts: mounts.length });
        continue;
      }
      log.info('Removing the directory of a pod that is not known', { podUID: name });
      await files
        .removeTree(this.path(name))
        .catch((err: unknown) => log.error(err, 'Failed to remove orphaned pod directory', { podUID: name }));
    }
  }
}
