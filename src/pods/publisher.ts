import { type PodUid, podUid } from '../api/brands.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { StatusManager } from '../status/manager.ts';
import type { PodStatusPublisher } from '../status/publisher.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import type { StatusOverride } from './lifecycle.ts';
import type { StatusPublisher } from './ports.ts';

export interface PublisherDeps {
  inner: PodStatusPublisher;
  manager: StatusManager;
  reasons: ReasonCache;
  /** A pod became Ready, for the first time in this process. */
  becameReady(pod: Pod): void;
  /** A status was computed, changed or not. */
  published?(uid: PodUid, status: PodStatus): void;
}

/** The status room as the workers see it: also tells the first time that a pod is ready, and forgets pods. */
export class Publisher implements StatusPublisher {
  readonly #deps: PublisherDeps;
  readonly #ready = new Set<PodUid>();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  publish(pod: Pod, observed: ObservedPod, opts: { terminal: boolean; override?: StatusOverride | undefined }): PodStatus {
    const status = this.#deps.inner.publish(pod, observed, opts);
    const uid = podUid(pod.metadata.uid);
    if (!this.#ready.has(uid) && status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')) {
      this.#ready.add(uid);
      this.#deps.becameReady(pod);
    }
    this.#deps.published?.(uid, status);
    return status;
  }

  noteFailures(uid: PodUid, failures: ReadonlyMap<string, { reason: string; message: string }>): void {
    this.#deps.inner.noteFailures(uid, failures);
  }

  terminated(pod: Pod): void {
    this.#deps.inner.terminated(pod);
  }

  forget(uid: PodUid): void {
    this.#deps.manager.remove(uid);
    this.#deps.reasons.remove(uid);
    this.#ready.delete(uid);
  }
}
