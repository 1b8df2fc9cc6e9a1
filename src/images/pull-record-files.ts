import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { type Files, isErrno } from '../host/files.ts';
import type { PulledRecord } from './pull-record.ts';
import { intentJson, PullRecordError, readIntent, readRecord, recordJson } from './pull-record-json.ts';

const Prefix = 'sha256-';
/** A record grows with every secret that an image was pulled with. */
const MaxBytes = 4 * 1024 * 1024;

/** How many are kept in memory. */
const MaxKnown = 1000;

export type RecordFiles = Pick<Files, 'mkdir' | 'stat' | 'read' | 'writeAtomic' | 'list' | 'unlink'>;

/** {root}/image_manager (contract: node.md §14): what is being pulled, and what was pulled and with what. */
export class PullRecordFiles {
  readonly #files: RecordFiles;
  readonly #root: string;
  readonly #pulling: string;
  readonly #pulled: string;
  /** Only this process writes records: what was read once holds until then. Absent ones too, which most images are. */
  readonly #known = new Map<string, PulledRecord | undefined>();
  #changes = 0;

  constructor(files: RecordFiles, rootDir: string) {
    this.#files = files;
    this.#root = rootDir;
    this.#pulling = posix.join(rootDir, 'image_manager/pulling');
    this.#pulled = posix.join(rootDir, 'image_manager/pulled');
  }

  async prepare(): Promise<void> {
    // With the mode of its own, should it be missing.
    if ((await this.#files.stat(this.#root)) === undefined) await this.#files.mkdir(this.#root, 0o750);
    for (const dir of [this.#pulling, this.#pulled]) await this.#files.mkdir(dir, 0o700);
  }

  writeIntent(image: string): Promise<void> {
    return this.#write(this.#pulling, image, intentJson(image));
  }

  removeIntent(image: string): Promise<void> {
    return this.#files.unlink(pathOf(this.#pulling, image));
  }

  async writeRecord(record: PulledRecord): Promise<void> {
    await this.#write(this.#pulled, record.imageRef, recordJson(record));
    this.#changed(record.imageRef);
  }

  async removeRecord(imageRef: string): Promise<void> {
    await this.#files.unlink(pathOf(this.#pulled, imageRef));
    this.#changed(imageRef);
  }

  /** Undefined when there is none. Rejects with PullRecordError when the file cannot be used. */
  async record(imageRef: string): Promise<PulledRecord | undefined> {
    if (this.#known.has(imageRef)) return this.#known.get(imageRef);
    const changes = this.#changes;
    const found = await this.#read(imageRef);
    // Read while one was written: it may be the old one.
    if (changes !== this.#changes) return found;
    if (this.#known.size >= MaxKnown) this.#known.clear();
    this.#known.set(imageRef, found);
    return found;
  }

  #changed(imageRef: string): void {
    this.#changes++;
    this.#known.delete(imageRef);
  }

  async #read(imageRef: string): Promise<PulledRecord | undefined> {
    try {
      const record = readRecord((await this.#files.read(pathOf(this.#pulled, imageRef), MaxBytes)).toString());
      return record.imageRef === imageRef ? record : undefined;
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return undefined;
      throw err;
    }
  }

  /** All that can be read; `refused` gets the others. */
  intents(refused: (path: string, reason: string) => void): Promise<string[]> {
    return this.#all(this.#pulling, readIntent, refused);
  }

  records(refused: (path: string, reason: string) => void): Promise<PulledRecord[]> {
    return this.#all(this.#pulled, readRecord, refused);
  }

  async count(): Promise<{ intents: number; records: number }> {
    const [intents, records] = await Promise.all([this.#names(this.#pulling), this.#names(this.#pulled)]);
    return { intents: intents.length, records: records.length };
  }

  async #write(dir: string, key: string, text: string): Promise<void> {
    // Somebody may have cleared the directory under the running agent.
    await this.#files.mkdir(dir, 0o700);
    await this.#files.writeAtomic(pathOf(dir, key), text, 0o600);
  }

  async #names(dir: string): Promise<string[]> {
    const entries = await this.#files.list(dir).catch((err: unknown) => {
      if (isErrno(err, 'ENOENT')) return [];
      throw err;
    });
    return entries.filter(({ name, kind }) => kind === 'file' && /^sha256-[0-9a-f]{64}$/.test(name)).map(({ name }) => name);
  }

  async #all<T>(dir: string, read: (text: string) => T, refused: (path: string, reason: string) => void): Promise<T[]> {
    const found: T[] = [];
    for (const name of await this.#names(dir)) {
      const path = posix.join(dir, name);
      try {
        found.push(read((await this.#files.read(path, MaxBytes)).toString()));
      } catch (err) {
        if (!(err instanceof PullRecordError || isErrno(err))) throw err;
        refused(path, err.message);
      }
    }
    return found;
  }
}

function pathOf(dir: string, key: string): string {
  return posix.join(dir, `${Prefix}${createHash('sha256').update(key).digest('hex')}`);
}
