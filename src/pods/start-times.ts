import { isStaticPod } from '../api/pod.ts';
import { isSidecar } from '../api/restart.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Timeline } from '../observe/timeline.ts';
import type { ImageEnsurer } from '../sync/context.ts';

/** What is counted of the start of pods. Contract: metrics.md §1a. */
export interface StartMetrics {
  /** kubelet_pod_worker_start_duration_seconds: from the first sight of a pod to the start of its lane. */
  workerStarted(seconds: number): void;
  /** kubelet_pod_start_duration_seconds: from the first sight of a pod until it is Running. */
  podStarted(seconds: number): void;
  /** kubelet_pod_start_sli_duration_seconds (pulls and init left out) and kubelet_pod_start_total_duration_seconds, from its creation. */
  podReady(sliSeconds: number, totalSeconds: number): void;
  /** kubelet_containers_per_pod_count. */
  podAdmitted(containers: number): void;
  /** kubelet_orphaned_runtime_pods_total. */
  orphanFound(): void;
  /** kubelet_restarted_pods_total: a pod of the same UID that began anew after it was taken away. */
  podRestarted(isStatic: boolean): void;
}

export interface StartTimesDeps {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Holds when a pod was `seen`. */
  timeline: Pick<Timeline, 'of'>;
  metrics: StartMetrics;
}

interface Start {
  pod: Pod;
  /** Wall-clock milliseconds. */
  seenAt: number;
  pullMs: number;
  isOver: boolean;
  /** It was stopped and cleared: another sync is another life. */
  hasEnded: boolean;
}

/** How long pods take to start, each counted once. A pod that ran before the agent saw it has not started here. */
export class PodStartTimes {
  readonly #deps: StartTimesDeps;
  readonly #starts = new Map<string, Start>();

  constructor(deps: StartTimesDeps) {
    this.#deps = deps;
  }

  /** The lane of a pod takes a step. */
  begun({ uid, phase, pod, orphan }: { uid: string; phase: string; pod: Pod; orphan: boolean }): void {
    const { clock, timeline, metrics } = this.#deps;
    const known = this.#starts.get(uid);
    if (known !== undefined) {
      if (known.hasEnded && phase === 'sync') metrics.podRestarted(isStaticPod(pod));
      known.hasEnded = phase === 'terminated';
      return;
    }
    const seenAt = timeline.of(uid).find((e) => e.what === 'seen')?.at;
    const isOver = seenAt === undefined || phase !== 'sync' || (pod.status?.phase ?? 'Pending') !== 'Pending';
    this.#starts.set(uid, { pod, seenAt: seenAt ?? 0, pullMs: 0, isOver, hasEnded: false });
    if (orphan) metrics.orphanFound();
    if (orphan || phase !== 'sync') return;
    metrics.podAdmitted(pod.spec.containers.length);
    if (seenAt !== undefined) metrics.workerStarted(Math.max(0, clock.now() - seenAt) / 1000);
  }

  /** A status was computed. */
  published(uid: string, status: PodStatus): void {
    const start = this.#starts.get(uid);
    if (start === undefined || start.isOver || status.phase === 'Pending') return;
    start.isOver = true;
    if (status.phase !== 'Running') return;
    const { clock, metrics } = this.#deps;
    const now = clock.now();
    metrics.podStarted(Math.max(0, now - start.seenAt) / 1000);
    // When a static pod was made is known to nobody.
    const created = Date.parse(start.pod.metadata.creationTimestamp ?? '');
    if (isStaticPod(start.pod) || Number.isNaN(created)) return;
    const total = Math.max(0, now - created);
    metrics.podReady(Math.max(0, total - start.pullMs - initMs(start.pod, status)) / 1000, total / 1000);
  }

  /** `images`, with the time that pods wait for them taken. */
  timed(images: ImageEnsurer): ImageEnsurer {
    return {
      ensureImage: async (req) => {
        const began = this.#deps.clock.monotonic();
        try {
          return await images.ensureImage(req);
        } finally {
          const start = this.#starts.get(req.pod.metadata.uid);
          if (start !== undefined) start.pullMs += this.#deps.clock.monotonic() - began;
        }
      },
      forget: (imageRef) => images.forget(imageRef),
      collect: () => images.collect(),
    };
  }

  forget(uid: string): void {
    this.#starts.delete(uid);
  }
}

/** How long the ordinary init containers ran, in milliseconds. */
function initMs(pod: Pod, status: PodStatus): number {
  const ordinary = new Set((pod.spec.initContainers ?? []).filter((c) => !isSidecar(c)).map((c) => c.name));
  let sum = 0;
  for (const { name, state } of status.initContainerStatuses ?? []) {
    const ms = Date.parse(state?.terminated?.finishedAt ?? '') - Date.parse(state?.terminated?.startedAt ?? '');
    if (ordinary.has(name) && ms > 0) sum += ms;
  }
  return sum;
}
