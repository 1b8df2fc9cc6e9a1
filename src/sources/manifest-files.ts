import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { compareGoStrings } from '../compat/go-text.ts';
import type { FileStamp } from '../host/file-stamp.ts';
import { isErrno } from '../host/files.ts';
import { ManifestError } from './manifest-error.ts';
import type { ManifestFs } from './manifest-fs.ts';
import type { ManifestReader } from './manifest-reader.ts';
import { type Manifest, MaxManifestBytes, tooLarge } from './parse-pod.ts';
import type { SeenPods } from './seen-pods.ts';

/** Everything below the path at one time. */
export interface Listed {
  files: ManifestFile[];
  /** Whether any file differs from last time. */
  changed: boolean;
  kind: 'missing' | 'directory' | 'single';
}

/** What one file of the manifest path gave when it was last looked at. */
export interface ManifestFile extends Manifest {
  path: string;
  /** Undefined where the file could not be looked at or read: it is tried again each time. */
  stamp: string | undefined;
  /** Of the content. */
  digest: string | undefined;
}

/** Reads the files of a manifest path, and reads again only those that changed. */
export class ManifestFiles {
  readonly #fs: ManifestFs;
  readonly #path: string;
  readonly #nodeName: string;
  readonly #reader: ManifestReader;
  readonly #seen: SeenPods;
  #known = new Map<string, ManifestFile>();

  constructor(fs: ManifestFs, path: string, nodeName: string, reader: ManifestReader, seen: SeenPods) {
    this.#fs = fs;
    this.#path = path;
    this.#nodeName = nodeName;
    this.#reader = reader;
    this.#seen = seen;
  }

  /**
   * Every manifest below the path, in the order of the names, and whether any differs from last time. `touched` names
   * files that are read again even if they look the same; undefined is the path itself. A path that does not exist has
   * no files. Throws when the path itself cannot be looked at.
   */
  async list(touched: ReadonlySet<string | undefined>): Promise<Listed> {
    const before = this.#known;
    const after = new Map<string, ManifestFile>();
    const { kind, names } = await this.#names();
    for (const { path, name } of names) {
      const old = before.get(path);
      const file = await this.#look(path, touched.has(name) ? undefined : old?.stamp, old);
      if (file) after.set(path, file);
    }
    this.#known = after;
    const changed = after.size !== before.size || [...after].some(([path, file]) => !isSame(before.get(path), file));
    return { files: [...after.values()], changed, kind };
  }

  /** Forgets files that went away and came back: what is left, undefined when none of them had a pod. */
  withdraw(names: ReadonlySet<string>): Listed | undefined {
    const paths = [...names].map((name) => join(this.#path, name)).filter((path) => (this.#known.get(path)?.pods.length ?? 0) > 0);
    for (const path of paths) this.#known.delete(path);
    return paths.length === 0 ? undefined : { files: [...this.#known.values()], changed: true, kind: 'directory' };
  }

  async #names(): Promise<{ kind: Listed['kind']; names: { path: string; name: string | undefined }[] }> {
    let self: FileStamp;
    try {
      self = await this.#fs.stamp(this.#path);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return { kind: 'missing', names: [] };
      throw error;
    }
    if (self.kind !== 'directory') return { kind: 'single', names: [{ path: this.#path, name: undefined }] };
    const names = (await this.#fs.names(this.#path)).filter((name) => !name.startsWith('.'));
    return { kind: 'directory', names: names.sort(compareGoStrings).map((name) => ({ path: join(this.#path, name), name })) };
  }

  /** Undefined for a file that went away meanwhile. */
  async #look(path: string, sameStamp: string | undefined, old: ManifestFile | undefined): Promise<ManifestFile | undefined> {
    try {
      const { kind, stamp } = await this.#fs.stamp(path);
      if (old && stamp === sameStamp) return old;
      if (kind === 'file') return await this.#read(path, stamp, old);
      const problem = kind === 'directory' ? 'is a directory' : 'is neither a file nor a directory';
      const remedy = kind === 'directory' ? 'directories below the manifest directory are not entered' : undefined;
      return { path, stamp, digest: undefined, pods: [], faults: [{ code: 'not-a-file', file: path, problem, remedy }] };
    } catch (error) {
      // Gone meanwhile, unless what is left is a link to nothing.
      if (isErrno(error, 'ENOENT') && (await this.#fs.isGone(path))) return undefined;
      return unreadable(path, error);
    }
  }

  async #read(path: string, stamp: string, old: ManifestFile | undefined): Promise<ManifestFile> {
    const data = await this.#fs.read(path, MaxManifestBytes + 1);
    if (data.length > MaxManifestBytes) return { path, stamp, digest: undefined, pods: [], faults: [tooLarge(path)] };
    const digest = createHash('sha256').update(data).digest('base64');
    if (old && old.digest === digest) return Object.assign(old, { stamp });
    const manifest = await this.#reader.read(data, { kind: 'file', location: path, nodeName: this.#nodeName });
    for (const pod of manifest.pods) this.#seen.mark(pod);
    return { path, stamp, digest, ...manifest };
  }
}

function unreadable(path: string, error: unknown): ManifestFile {
  if (!isErrno(error)) throw error;
  const known: Record<string, string> = { ENOENT: 'is a symbolic link to nothing', ELOOP: 'is a symbolic link in a loop' };
  const problem = known[error.code ?? ''] ?? `cannot be read: ${error.code}`;
  return { path, stamp: undefined, digest: undefined, pods: [], faults: [{ code: 'unreadable', file: path, problem }] };
}

function isSame(old: ManifestFile | undefined, file: ManifestFile): boolean {
  if (old === file) return true;
  if (!old || old.pods.length > 0 || file.pods.length > 0) return false;
  return JSON.stringify(old.faults) === JSON.stringify(file.faults);
}

/** The faults of `file` as errors. */
export function manifestErrors(file: ManifestFile): ManifestError[] {
  return file.faults.map((fault) => new ManifestError(fault));
}
