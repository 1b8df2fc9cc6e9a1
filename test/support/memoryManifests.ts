import { posix } from 'node:path';
import type { ManifestFs, ManifestWatch } from '../../src/sources/manifest-fs.ts';

function missing(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' });
}

/** A manifest directory in memory: names below `root` (with slashes for directories) and their content. */
export class MemoryManifests implements ManifestFs {
  readonly #files = new Map<string, { content: string; version: number }>();
  readonly #root: string;
  #version = 0;
  #changed: ((name: string | undefined) => void) | undefined;

  constructor(root: string, files: Readonly<Record<string, string>>) {
    this.#root = root;
    for (const [name, content] of Object.entries(files)) this.put(name, content);
  }

  put(name: string, content: string): void {
    this.#version += 1;
    this.#files.set(posix.join(this.#root, name), { content, version: this.#version });
    this.#changed?.(name);
  }

  async stamp(path: string): Promise<{ kind: 'file' | 'directory'; stamp: string; identity: string }> {
    const file = this.#files.get(path);
    if (file) return { kind: 'file', stamp: String(file.version), identity: path };
    if (path === this.#root || this.#below(path).length > 0) return { kind: 'directory', stamp: path, identity: path };
    throw missing(path);
  }

  async names(path: string): Promise<string[]> {
    return [...new Set(this.#below(path).map((file) => file.slice(path.length + 1).split('/')[0] ?? ''))];
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array> {
    const file = this.#files.get(path);
    if (!file) throw missing(path);
    return Buffer.from(file.content).subarray(0, maxBytes);
  }

  async isGone(path: string): Promise<boolean> {
    return !this.#files.has(path);
  }

  watch(_path: string, changed: (name: string | undefined, renamed: boolean) => void): ManifestWatch {
    this.#changed = (name) => changed(name, false);
    return { refresh: async () => {}, close: () => {} };
  }

  #below(path: string): string[] {
    return [...this.#files.keys()].filter((file) => file.startsWith(`${path}/`));
  }
}
