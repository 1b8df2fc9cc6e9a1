import { type Files, isErrno } from '../../host/files.ts';
import type { Logger } from '../../observe/log.ts';

const MODE = 0o600;

/**
 * One checkpoint file under the root directory. Only the newest text is of use: texts that come while one is written replace each other, and
 * whoever must not go on before the newest is on disk waits for `settled`.
 */
export class CheckpointFile {
  readonly path: string;
  readonly #files: Pick<Files, 'read' | 'writeAtomic'>;
  readonly #log: Logger;
  /** What is on disk, as far as this process knows. */
  #written: string | undefined;
  #wanted: string | undefined;
  #writing: Promise<void> | undefined;

  constructor(path: string, files: Pick<Files, 'read' | 'writeAtomic'>, log: Logger) {
    this.path = path;
    this.#files = files;
    this.#log = log;
  }

  /** The file's text; undefined when there is none. */
  async read(): Promise<string | undefined> {
    try {
      const text = (await this.#files.read(this.path)).toString();
      this.#written = text;
      return text;
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return undefined;
      throw err;
    }
  }

  /** Begins to write; a failure is logged, and tried again by whoever waits for it. */
  write(text: string): void {
    this.#wanted = text;
    this.settled().catch((err: unknown) => this.#log.error(err, 'Failed to write a checkpoint', { path: this.path }));
  }

  /** Resolves once the newest text is on disk. Rejects with the file system's error. */
  async settled(): Promise<void> {
    while (this.#wanted !== undefined && this.#wanted !== this.#written) {
      this.#writing ??= this.#writeNewest().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #writeNewest(): Promise<void> {
    const text = this.#wanted;
    if (text === undefined) return;
    await this.#files.writeAtomic(this.path, text, MODE);
    this.#written = text;
  }
}
