import { posix } from 'node:path';
import type { Clock } from '../host/clock.ts';
import { type DirEntry, type Files, isErrno } from '../host/files.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import type { Random } from '../host/random.ts';
import { cleanPayload, type Payload, type VolumeFile } from './payload.ts';
import { VolumeError } from './volume-error.ts';

const DataLink = '..data';
const NewDataLink = '..data_tmp';
const VersionName = /^\.\.\d{4}(?:_\d\d){5}\.\d+$/;
/** Longest that a reader who has just looked up the old version may take to open a file in it. */
const OldVersionMs = 100;

export interface AtomicWriterDeps {
  files: Files;
  owned: OwnedFiles;
  clock: Clock;
  random: Random;
  /** Milliseconds for which a replaced version is still there. */
  oldVersionMs?: number;
}

/**
 * Shows a set of files in a directory so that a reader sees all of one version or all of the next (contract: node.md §10).
 * The files lie in `..{time}.{random}`, `..data` links to that, and each name in the directory links to `..data/{name}`:
 * renaming a new `..data` over the old one changes all at once. The same layout as the Go kubelet's, so that either can
 * go on with what the other left. One writer a directory at a time.
 */
export class AtomicWriter {
  readonly #deps: AtomicWriterDeps;

  constructor(deps: AtomicWriterDeps) {
    this.#deps = deps;
  }

  /** Makes `dir`, which exists, show exactly `payload`. False when it did already. `gid`: the group that may read. */
  async write(dir: string, payload: Payload, gid?: number): Promise<boolean> {
    const { files } = this.#deps;
    const wanted = cleanPayload(payload);
    const old = await this.#currentVersion(dir);
    const isChanged = old === undefined || !(await this.#shows(posix.join(dir, old), wanted));
    if (isChanged) await this.#publish(dir, wanted, gid);
    const entries = await files.list(dir);
    await this.#linkNames(dir, entries, wanted);
    await this.#removeStale(dir, entries, isChanged && old !== undefined);
    return isChanged;
  }

  /** The directory that `..data` links to, when it is one of ours. */
  async #currentVersion(dir: string): Promise<string | undefined> {
    const { files, owned } = this.#deps;
    try {
      const target = await files.readlink(posix.join(dir, DataLink));
      if (!VersionName.test(target)) return undefined;
      return (await owned.identity(posix.join(dir, target)))?.isDirectory === true ? target : undefined;
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return undefined;
      throw err;
    }
  }

  async #shows(version: string, wanted: Payload): Promise<boolean> {
    const { files } = this.#deps;
    const found = await this.#filesIn(version, '');
    if (found.length !== wanted.size || found.some((path) => !wanted.has(path))) return false;
    for (const [path, { data }] of wanted) {
      // One byte more than wanted: a longer file is another one.
      const present = await files.read(posix.join(version, path), data.byteLength + 1);
      if (!present.equals(data)) return false;
    }
    return true;
  }

  /** Paths below `version` of everything that is no directory. */
  async #filesIn(version: string, below: string): Promise<string[]> {
    const entries = await this.#deps.files.list(posix.join(version, below));
    const found: string[] = [];
    for (const { name, kind } of entries) {
      const path = posix.join(below, name);
      if (kind === 'directory') found.push(...(await this.#filesIn(version, path)));
      else found.push(kind === 'file' ? path : `${path}\0`);
    }
    return found;
  }

  async #publish(dir: string, wanted: Payload, gid: number | undefined): Promise<void> {
    const { files } = this.#deps;
    const version = await this.#newVersion(dir, gid);
    try {
      await this.#fill(posix.join(dir, version), wanted, gid);
      await files.symlink(version, posix.join(dir, NewDataLink));
      await files.rename(posix.join(dir, NewDataLink), posix.join(dir, DataLink));
    } catch (err) {
      await files.unlink(posix.join(dir, NewDataLink)).catch(() => {});
      await files.removeTree(posix.join(dir, version)).catch(() => {});
      throw err;
    }
  }

  async #newVersion(dir: string, gid: number | undefined): Promise<string> {
    const { owned, clock, random } = this.#deps;
    const time = new Date(clock.now()).toISOString().slice(0, 19).replace(/[-T:]/g, '_');
    for (let tries = 0; tries < 100; tries++) {
      const name = `..${time}.${Math.floor(random.float() * 1e10)}`;
      if (await owned.makeDirectory(posix.join(dir, name), directoryMode(gid), { gid })) return name;
    }
    throw new VolumeError('host', 'no free name for a new version of the files');
  }

  async #fill(version: string, wanted: Payload, gid: number | undefined): Promise<void> {
    const { owned } = this.#deps;
    const directories = new Set<string>();
    for (const path of wanted.keys()) {
      for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent)) directories.add(parent);
    }
    // Sorted: a directory comes before what is in it.
    for (const path of [...directories].sort()) await owned.makeDirectory(posix.join(version, path), directoryMode(gid), { gid });
    const made = await Promise.allSettled(
      [...wanted].map(([path, { data, mode, uid }]) =>
        owned.createFile(posix.join(version, path), data, fileMode(mode, gid), { uid, gid }),
      ),
    );
    for (const result of made) if (result.status === 'rejected') throw result.reason;
  }

  /** The names that users see. Links of files that are gone are removed; what is no link of ours stays. */
  async #linkNames(dir: string, entries: readonly DirEntry[], wanted: Payload): Promise<void> {
    const { files } = this.#deps;
    const names = new Set([...wanted.keys()].map((path) => path.split('/', 1)[0] ?? path));
    const present = new Map(entries.map((entry) => [entry.name, entry.kind]));
    for (const name of names) {
      const kind = present.get(name);
      const path = posix.join(dir, name);
      if (kind !== undefined && kind !== 'symlink') {
        throw new VolumeError('host', `${JSON.stringify(name)} cannot be shown: there is a ${kind} of that name`);
      }
      const target = posix.join(DataLink, name);
      if (kind === undefined || (await files.readlink(path)) !== target) await files.symlink(target, path);
    }
    for (const [name, kind] of present) {
      if (kind !== 'symlink' || names.has(name) || name.startsWith('..')) continue;
      const path = posix.join(dir, name);
      if ((await files.readlink(path)) === posix.join(DataLink, name)) await files.unlink(path);
    }
  }

  /** Versions that are not shown: the one just replaced, and what a crash left. */
  async #removeStale(dir: string, entries: readonly DirEntry[], isReplaced: boolean): Promise<void> {
    const { files, clock, oldVersionMs = OldVersionMs } = this.#deps;
    const current = await files.readlink(posix.join(dir, DataLink));
    const stale = entries.filter(({ name, kind }) => kind === 'directory' && VersionName.test(name) && name !== current);
    if (stale.length === 0) return;
    if (isReplaced) await clock.sleep(oldVersionMs);
    for (const { name } of stale) await files.removeTree(posix.join(dir, name));
  }
}

/** Files of a group that only reads (contract: node.md §10, fsGroup). */
function fileMode(mode: VolumeFile['mode'], gid: number | undefined): number {
  return gid === undefined ? mode : mode | 0o440;
}

function directoryMode(gid: number | undefined): number {
  return gid === undefined ? 0o755 : 0o2755;
}
