import { readFileSync, realpathSync } from 'node:fs';
import { type TarEntry, tar } from '../../../../scripts/images/tar.ts';
import { run } from '../../../../scripts/node/run.ts';

/** The files of one layer. Folders above an entry are made with mode 755 unless they were given before. */
export class Layer {
  readonly #entries = new Map<string, TarEntry>();

  folder(name: string, mode = 0o755): this {
    this.#parents(name);
    this.#entries.set(name, { kind: 'folder', name, mode });
    return this;
  }

  file(name: string, data: Buffer | string, mode = 0o644): this {
    this.#parents(name);
    this.#entries.set(name, { kind: 'file', name, mode, data: Buffer.from(data) });
    return this;
  }

  /** A file with the content of one of this machine. */
  copy(name: string, path: string, mode = 0o755): this {
    return this.file(name, readFileSync(path), mode);
  }

  /** A symbolic link, unless something is there already. */
  link(name: string, target: string): this {
    this.#parents(name);
    if (!this.#entries.has(name)) this.#entries.set(name, { kind: 'link', name, target });
    return this;
  }

  /** A program of this machine with the shared libraries that its loader will want. */
  async program(name: string, path: string): Promise<this> {
    this.copy(name, realpathSync(path));
    for (const line of (await run('ldd', [path])).stdout.split('\n')) {
      const library = line.split(/\s+/).find((w) => w.startsWith('/'));
      // The loader looks in /lib as well, and images have no /usr/lib.
      if (library !== undefined) this.copy(library.replace(/^\/usr\/lib\//, '/lib/').slice(1), realpathSync(library));
    }
    return this;
  }

  tar(): Buffer {
    return tar([...this.#entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
  }

  #parents(name: string): void {
    const parts = name.split('/').slice(0, -1);
    for (let i = 1; i <= parts.length; i++) {
      const parent = parts.slice(0, i).join('/');
      if (!this.#entries.has(parent)) this.#entries.set(parent, { kind: 'folder', name: parent, mode: 0o755 });
    }
  }
}
