import type { Pod } from '../../src/api/types.ts';
import type { PodSet, PodSource } from '../../src/sources/types.ts';

/**
 * A source of pods that a test writes to. It outlives the agent, as a manifest directory does: each reader first gets
 * the set of the moment, then a set after each change; changes between two reads arrive as one.
 */
export class SimSource implements PodSource {
  readonly name: PodSource['name'];
  #pods = new Map<string, Pod>();
  #version = 0;
  #wakes = new Set<() => void>();
  #held = false;

  constructor(name: PodSource['name'] = 'file') {
    this.name = name;
  }

  /** The pods that the source offers now. */
  get pods(): Pod[] {
    return [...this.#pods.values()];
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  /** Adds a pod, or replaces the one of that UID. */
  put(...pods: Pod[]): void {
    for (const pod of pods) this.#pods.set(pod.metadata.uid, pod);
    this.#change();
  }

  remove(...uids: string[]): void {
    for (const uid of uids) this.#pods.delete(uid);
    this.#change();
  }

  /** A source that has not answered yet: readers get nothing until `release`. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.#change();
  }

  async *sets(signal: AbortSignal): AsyncIterable<PodSet> {
    let sent = -1;
    while (!signal.aborted) {
      if (!this.#held && this.#version !== sent) {
        sent = this.#version;
        yield { pods: this.pods.map((pod) => structuredClone(pod)), errors: [] };
        continue;
      }
      await this.#nextChange(signal);
    }
  }

  #change(): void {
    this.#version++;
    for (const wake of this.#wakes) wake();
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#wakes.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#wakes.add(done);
      signal.addEventListener('abort', done);
    });
  }
}
