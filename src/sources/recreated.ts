import { join } from 'node:path';
import type { ManifestFs } from './manifest-fs.ts';

/**
 * Which files of a watched directory went away since the last look, though they may be back. A watch tells a deletion and
 * a creation alike; a file renamed over another is told once. So: told twice, or not there at the moment of the telling.
 */
export class Recreated {
  readonly #fs: Pick<ManifestFs, 'isGone'>;
  readonly #directory: string;
  #counts = new Map<string, number>();
  #gone = new Set<string>();
  #looks: Promise<void>[] = [];

  constructor(fs: Pick<ManifestFs, 'isGone'>, directory: string) {
    this.#fs = fs;
    this.#directory = directory;
  }

  /** An entry came or went. */
  note(name: string): void {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (count > 1) this.#gone.add(name);
    this.#looks.push(this.#look(name));
  }

  /** The names since the last call. */
  async take(): Promise<ReadonlySet<string>> {
    await Promise.all(this.#looks);
    const gone = this.#gone;
    this.#counts = new Map();
    this.#gone = new Set();
    this.#looks = [];
    return gone;
  }

  async #look(name: string): Promise<void> {
    // A name that cannot be looked at is no deletion: the listing tells what is wrong with it.
    if (await this.#fs.isGone(join(this.#directory, name)).catch(() => false)) this.#gone.add(name);
  }
}
