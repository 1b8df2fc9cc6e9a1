import type { Pod, PodCondition } from '../api/types.ts';
import { type DeferredResolution, priorityBucket, type ResizeMetrics } from './resize-metrics.ts';

interface PodConditions {
  pending?: PodCondition;
  inProgress?: PodCondition;
  /** For the label of the metrics. */
  priority: number | undefined;
}

export interface ResizeConditionsDeps {
  /** RFC 3339. */
  nowIso(): string;
  /** Milliseconds. */
  now(): number;
  metrics: ResizeMetrics;
}

const Pending = 'PodResizePending';
const InProgress = 'PodResizeInProgress';

/**
 * The two conditions that say how a pod's resize stands, until the next status takes them along. Pending: not (yet)
 * possible. InProgress: allocated and not yet in force. Source: contract events.md §9; KEP-1287.
 */
export class ResizeConditions {
  readonly #deps: ResizeConditionsDeps;
  readonly #pods = new Map<string, PodConditions>();

  constructor(deps: ResizeConditionsDeps) {
    this.#deps = deps;
  }

  list(uid: string): PodCondition[] {
    const { pending, inProgress } = this.#pods.get(uid) ?? {};
    return [pending, inProgress].filter((c) => c !== undefined);
  }

  isDeferred(uid: string): boolean {
    return this.#pods.get(uid)?.pending?.reason === 'Deferred';
  }

  isInfeasible(uid: string): boolean {
    return this.#pods.get(uid)?.pending?.reason === 'Infeasible';
  }

  isInProgress(uid: string): boolean {
    return this.#pods.get(uid)?.inProgress !== undefined;
  }

  /** True when the reason or the generation is new. */
  setPending(pod: Pod, reason: 'Deferred' | 'Infeasible', message: string): boolean {
    const old = this.#pods.get(pod.metadata.uid)?.pending;
    const pending = this.#condition(Pending, old, reason, message, pod.metadata.generation);
    this.#put(pod, { pending });
    return old === undefined || old.reason !== reason || old.observedGeneration !== pending.observedGeneration;
  }

  /**
   * A condition that is there keeps its generation, and its reason and message where none are given. Returns the
   * generation and whether anything but times changed.
   */
  setInProgress(pod: Pod, reason = '', message = ''): { generation: number; changed: boolean } {
    const old = this.#pods.get(pod.metadata.uid)?.inProgress;
    const keep = reason === '' && message === '' && old !== undefined;
    const generation = old === undefined ? pod.metadata.generation : old.observedGeneration;
    const inProgress = this.#condition(
      InProgress,
      old,
      keep ? (old.reason ?? '') : reason,
      keep ? (old.message ?? '') : message,
      generation,
    );
    this.#put(pod, { inProgress });
    const changed = old === undefined || old.reason !== inProgress.reason || old.message !== inProgress.message;
    return { generation: inProgress.observedGeneration ?? 0, changed };
  }

  clearPending(uid: string, resolution: DeferredResolution): void {
    const entry = this.#pods.get(uid);
    if (entry?.pending === undefined) return;
    this.#observeDeferred(entry, resolution);
    const { pending: _, ...rest } = entry;
    this.#replace(uid, rest);
  }

  /** The generation of the condition that was there; undefined when there was none. */
  clearInProgress(uid: string): number | undefined {
    const entry = this.#pods.get(uid);
    if (entry?.inProgress === undefined) return undefined;
    const { inProgress, ...rest } = entry;
    this.#replace(uid, rest);
    return inProgress.observedGeneration ?? 0;
  }

  /** Takes the conditions that the API server holds of a pod not seen here before. */
  backfill(pod: Pod): void {
    for (const c of pod.status?.conditions ?? []) {
      if (c.type === Pending) this.#put(pod, { pending: c });
      if (c.type === InProgress) this.#put(pod, { inProgress: c });
    }
  }

  /** The pod is over, or forgotten. */
  end(uid: string): void {
    this.clearPending(uid, 'terminated');
    if (this.#pods.delete(uid)) this.#count();
  }

  #condition(type: string, old: PodCondition | undefined, reason: string, message: string, generation: number | undefined): PodCondition {
    const now = this.#deps.nowIso();
    const since = old?.lastTransitionTime;
    return {
      type,
      status: 'True',
      ...(generation ? { observedGeneration: generation } : {}),
      lastProbeTime: now,
      lastTransitionTime: old !== undefined && (old.reason ?? '') === reason && since ? since : now,
      ...(reason === '' ? {} : { reason }),
      ...(message === '' ? {} : { message }),
    };
  }

  #put(pod: Pod, more: Partial<PodConditions>): void {
    const { uid } = pod.metadata;
    this.#replace(uid, { ...this.#pods.get(uid), priority: pod.spec.priority, ...more });
  }

  #replace(uid: string, entry: PodConditions): void {
    if (entry.pending === undefined && entry.inProgress === undefined) this.#pods.delete(uid);
    else this.#pods.set(uid, entry);
    this.#count();
  }

  #count(): void {
    const pending = new Map<string, number>();
    let inProgress = 0;
    for (const entry of this.#pods.values()) {
      if (entry.inProgress !== undefined) inProgress++;
      if (entry.pending === undefined) continue;
      const key = `${(entry.pending.reason ?? '').toLowerCase()} ${priorityBucket(entry.priority)}`;
      pending.set(key, (pending.get(key) ?? 0) + 1);
    }
    const counts = [...pending].map(([key, count]) => {
      const [reason = '', bucket = ''] = key.split(' ');
      return { reason, bucket, count };
    });
    this.#deps.metrics.resizesNow(counts, inProgress);
  }

  #observeDeferred({ pending, priority }: PodConditions, resolution: DeferredResolution): void {
    if (pending?.reason !== 'Deferred' || !pending.lastTransitionTime) return;
    const seconds = Math.max(0, (this.#deps.now() - Date.parse(pending.lastTransitionTime)) / 1000);
    this.#deps.metrics.deferredFor(resolution, priorityBucket(priority), seconds);
  }
}
