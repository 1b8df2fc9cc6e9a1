import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import type { ManifestError } from './manifest-error.ts';
import type { PodSet, PodSource } from './types.ts';

/** What each source could not use, by source name. */
export type BadManifests = ReadonlyMap<string, readonly ManifestError[]>;

export interface SourceReaderDeps {
  sources: readonly PodSource[];
  log: Logger;
  /** Takes a full set of one source. Must not throw. */
  changed(source: string, set: PodSet): void;
}

/** Reads all sources side by side and hands on each full set. */
export class SourceReader implements Service {
  readonly name = 'sources';
  readonly #deps: SourceReaderDeps;
  readonly #bad = new Map<string, readonly ManifestError[]>();
  readonly #first = Promise.withResolvers<void>();
  #loops: Promise<void>[] = [];

  constructor(deps: SourceReaderDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): void {
    const missing = new Set(this.#deps.sources.map((s) => s.name));
    if (missing.size === 0) this.#first.resolve();
    this.#loops = this.#deps.sources.map(async (source) => {
      for await (const set of source.sets(signal)) {
        this.#bad.set(source.name, set.errors);
        this.#deps.changed(source.name, set);
        missing.delete(source.name);
        if (missing.size === 0) this.#first.resolve();
      }
    });
  }

  ready(): Promise<void> {
    return this.#first.promise;
  }

  health(): Health {
    return { ok: true };
  }

  badManifests(): BadManifests {
    return this.#bad;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops);
  }
}
