import type { PodUid } from '../api/brands.ts';
import type { ObservedPod } from './types.ts';

/** The last observation of every pod. An older observation never replaces a newer one. */
export class PodCache {
  readonly #pods = new Map<PodUid, ObservedPod>();

  get(uid: PodUid): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  /** False when something newer is already there. */
  put(observed: ObservedPod): boolean {
    const known = this.#pods.get(observed.uid);
    if (known !== undefined && known.observedAt > observed.observedAt) return false;
    this.#pods.set(observed.uid, observed);
    return true;
  }

  delete(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  all(): IterableIterator<ObservedPod> {
    return this.#pods.values();
  }
}
