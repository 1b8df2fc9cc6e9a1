import type { PodUid } from '../api/brands.ts';
import type { StartFailure } from './container-statuses.ts';

const none: ReadonlyMap<string, StartFailure> = new Map();

/**
 * Why containers are not started: the outcome of the last try of each, by pod. An entry lasts until the container is
 * started or the pod is removed; the status shows it only while the container is due to start (contract: events.md §4).
 */
export class ReasonCache {
  readonly #pods = new Map<PodUid, Map<string, StartFailure>>();

  /** Takes the outcome of one try to start a container; undefined: it was started. */
  update(uid: PodUid, container: string, failure: StartFailure | undefined): void {
    const reasons = this.#pods.get(uid);
    if (failure) {
      if (reasons) reasons.set(container, failure);
      else this.#pods.set(uid, new Map([[container, failure]]));
    } else if (reasons?.delete(container) && reasons.size === 0) {
      this.#pods.delete(uid);
    }
  }

  /** Takes the outcomes of all containers of a pod: those not named are not waited for. */
  replace(uid: PodUid, failures: ReadonlyMap<string, StartFailure>): void {
    if (failures.size > 0) this.#pods.set(uid, new Map(failures));
    else this.#pods.delete(uid);
  }

  /** By container name. */
  get(uid: PodUid): ReadonlyMap<string, StartFailure> {
    return this.#pods.get(uid) ?? none;
  }

  remove(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  removeOrphans(keep: ReadonlySet<PodUid>): void {
    for (const uid of this.#pods.keys()) if (!keep.has(uid)) this.#pods.delete(uid);
  }
}
