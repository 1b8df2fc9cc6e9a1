import type { PodResourceInfo } from '../api/allocation.ts';
import type { ResourceRequirements } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { type Files, isErrno } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';
import { CheckpointError, formatCheckpoint, parseCheckpoint } from './resource-checkpoint.ts';

export interface ResourceStateDeps {
  files: Files;
  clock: Pick<Clock, 'after'>;
  log: Logger;
  /** Such as `{root}/allocated_pods_state`. */
  path: string;
  /** Changes within so many milliseconds go into one write: pods start in crowds. */
  gatherMs: number;
  /** Another state that must be on disk before this one: what it says is older. */
  after?: { saved(): Promise<void> };
}

const FILE_MODE = 0o600;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Resources of pods, in memory and in a checkpoint file. Changes are in memory at once and on disk soon after, one write
 * at a time; who must not act before they are on disk awaits `saved`.
 */
export class ResourceState {
  readonly #deps: ResourceStateDeps;
  readonly #entries = new Map<string, PodResourceInfo>();
  #version = 0;
  #written = 0;
  #text = '';
  #writing: Promise<void> | undefined;
  #timer: { cancel(): void } | undefined;

  constructor(deps: ResourceStateDeps) {
    this.#deps = deps;
  }

  /** Reads the file; a missing one is an empty state. Rejects on a damaged one, with the remedy. */
  async load(): Promise<void> {
    const { files, path } = this.#deps;
    try {
      const text = (await files.read(path, MAX_BYTES)).toString();
      for (const [uid, info] of parseCheckpoint(text)) this.#entries.set(uid, info);
      this.#text = text;
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return;
      if (!(err instanceof CheckpointError)) throw err;
      const remedy = `please drain this node and delete pod resource information checkpoint file ${JSON.stringify(path)} before restarting`;
      throw new Error(`could not restore state from checkpoint: ${err.message}, ${remedy}`, { cause: err });
    }
  }

  get(uid: string): PodResourceInfo | undefined {
    return this.#entries.get(uid);
  }

  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  set(uid: string, info: PodResourceInfo): void {
    this.#entries.set(uid, info);
    this.#changed();
  }

  setContainer(uid: string, name: string, resources: ResourceRequirements): void {
    const old = this.#entries.get(uid);
    this.set(uid, { ...old, containers: { ...old?.containers, [name]: resources } });
  }

  setPodLevel(uid: string, resources: ResourceRequirements): void {
    this.set(uid, { containers: {}, ...this.#entries.get(uid), pod: resources });
  }

  /** Not written for its own sake: an entry too many does no harm, and goes with the next write. */
  remove(uid: string): void {
    this.#entries.delete(uid);
  }

  /** Drops the entries of pods that nobody knows any more. */
  retain(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#entries.keys()) if (!isKnown(uid)) this.#entries.delete(uid);
  }

  /** Resolves when everything up to now is on disk. Rejects when it cannot be written. */
  async saved(): Promise<void> {
    const wanted = this.#version;
    while (this.#written < wanted) await this.#write();
    // What changed meanwhile, with nobody waiting for it.
    if (this.#written < this.#version) this.#schedule();
  }

  #changed(): void {
    this.#version++;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#writing !== undefined) return;
    const { clock, log, path, gatherMs } = this.#deps;
    const write = () => {
      this.#timer = undefined;
      this.saved().catch((err: unknown) => log.error(err, 'Failed to save pod resource information checkpoint', { path }));
    };
    this.#timer = clock.after(gatherMs, write, true);
  }

  /** One write at a time; who comes during one waits for its end. */
  #write(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    const { files, path, after } = this.#deps;
    await after?.saved();
    const version = this.#version;
    const text = formatCheckpoint(this.#entries);
    if (text !== this.#text) await files.writeAtomic(path, text, FILE_MODE);
    this.#text = text;
    this.#written = version;
  }
}
