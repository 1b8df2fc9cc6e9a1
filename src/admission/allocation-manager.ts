import { isResizeInProgress, type PodResourceInfo, type ResizeGates, resourceInfoOf, withAllocation } from '../api/allocation.ts';
import type { Pod, PodCondition } from '../api/types.ts';
import type { Logger } from '../observe/log.ts';
import type { AdmissionVerdict, Preemption } from './chain.ts';
import { changesPodLevel, requestedResizes } from './requested-resizes.ts';
import type { ResizeConditions } from './resize-conditions.ts';
import type { Infeasible } from './resize-feasibility.ts';
import { resizeMessage } from './resize-message.ts';
import type { ResizeMetrics, RetryTrigger } from './resize-metrics.ts';
import { orderPending } from './resize-order.ts';

export interface AllocationDeps {
  gates: ResizeGates;
  /** What is set aside, and what is in force, by pod UID. */
  allocated: {
    get(uid: string): PodResourceInfo | undefined;
    has(uid: string): boolean;
    set(uid: string, info: PodResourceInfo): void;
    remove(uid: string): void;
  };
  actuated: { get(uid: string): PodResourceInfo | undefined };
  conditions: ResizeConditions;
  metrics: ResizeMetrics;
  log: Logger;
  /** Why the node cannot take a pod, new or resized, beside `others`, or whom to stop for it; undefined when it can. */
  admit(pod: Pod, others: readonly Pod[]): AdmissionVerdict;
  /** Stops pods to make room for a critical one; never rejects. Absent: that is left to the scheduler. */
  preempt?: ((preemption: Preemption) => Promise<void>) | undefined;
  /** See infeasibleResize. */
  infeasible(pod: Pod, allocated: Pod): Infeasible | undefined;
  /** The pods that count against the node, as desired. */
  active(): readonly Pod[];
  /** A desired pod. */
  pod(uid: string): Pod | undefined;
  sourcesReady(): boolean;
  /** The pod's lane is to look again, at this form of the pod. */
  sync(pod: Pod): void;
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/**
 * Decides which resources a pod has: those of its spec when it is admitted, and later ones only once the node has room
 * for them. Everything that counts resources of pods counts these (contract: pod-lifecycle.md §20).
 */
export class AllocationManager {
  readonly #deps: AllocationDeps;
  /** Pods whose resize waits, in the order in which they are tried. */
  #pending: string[] = [];
  /** Critical pods for which others are being stopped. */
  readonly #makingRoom = new Set<string>();

  constructor(deps: AllocationDeps) {
    this.#deps = deps;
  }

  /** The pod with its allocated resources; as it is when it has none. */
  allocated(pod: Pod): Pod {
    return withAllocation(pod, this.#deps.allocated.get(pod.metadata.uid), this.#deps.gates);
  }

  hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** A new pod, or one that was here before the agent started: then what it was allocated counts, not its spec. */
  add(pod: Pod, others: readonly Pod[]): AdmissionVerdict {
    const wanted = this.allocated(pod);
    const verdict = this.#deps.admit(wanted, this.#others(pod, others));
    // Others make room for a critical pod: it counts from now on.
    if (verdict === undefined || 'preempt' in verdict) this.#allocate(wanted);
    return verdict;
  }

  /** Once all of a batch are added: what they want beyond their allocation is tried. */
  added(pods: readonly Pod[]): void {
    const { conditions, allocated } = this.#deps;
    for (const pod of pods) {
      conditions.backfill(pod);
      // Not asked whether there is room, as it is here already or on its way out.
      if (!allocated.has(pod.metadata.uid)) this.#allocate(pod);
    }
    const resizing = pods.filter((pod) => this.allocated(pod) !== pod);
    for (const pod of resizing) this.#push(pod);
    if (resizing.length > 0) this.retry('pods_added');
  }

  /** The spec of a known pod changed. */
  updated(before: Pod | undefined, pod: Pod): void {
    const { allocated, conditions, metrics, gates } = this.#deps;
    if (!allocated.has(pod.metadata.uid)) return;
    const resizes = before === undefined ? [] : requestedResizes(before, pod, gates);
    for (const { resource, requirement, operation } of resizes) metrics.requested(resource, requirement, operation);
    if (before !== undefined && resizes.length === 0 && !changesPodLevel(before, pod)) return;
    if (this.allocated(pod) === pod) conditions.clearPending(pod.metadata.uid, 'reverted');
    else {
      this.#push(pod);
      this.retry('pod_updated');
    }
  }

  /** The pod is taken away: its share is free. */
  removed(uid: string): void {
    this.#deps.allocated.remove(uid);
    this.retry('pods_removed');
  }

  /** Tries the pending resizes in their order. Nothing before all sources have said what they have. */
  retry(trigger: RetryTrigger): void {
    const { conditions, pod: podOf, sourcesReady, metrics, log, sync } = this.#deps;
    if (!sourcesReady() || this.#pending.length === 0) return;
    const queue = this.#pending;
    this.#pending = [];
    for (const uid of queue) {
      const pod = podOf(uid);
      if (pod === undefined) continue;
      const before = JSON.stringify(conditions.list(uid).map(essence));
      const wasDeferred = conditions.isDeferred(uid);
      const accepted = this.#tryResize(pod);
      if (conditions.isDeferred(uid)) this.#pending.push(uid);
      else if (accepted) {
        log.debug(2, 'Pod resize allocated', { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, trigger });
        if (wasDeferred) metrics.deferredAccepted(trigger);
      }
      if (accepted || before !== JSON.stringify(conditions.list(uid).map(essence))) sync(this.allocated(pod));
    }
  }

  /** Sets or clears PodResizeInProgress by what runs and what is in force; tells when a resize is complete. `due`: it is not,
   * whatever is on record. */
  check(pod: Pod, runs: (container: string) => boolean, due = false): void {
    const { conditions, actuated, gates, event } = this.#deps;
    const { uid } = pod.metadata;
    const allocated = this.allocated(pod);
    if (due || isResizeInProgress(allocated, actuated.get(uid), runs, gates)) {
      conditions.setInProgress(pod);
      return;
    }
    const generation = conditions.clearInProgress(uid);
    if (generation === undefined) return;
    event(pod, 'Normal', 'ResizeCompleted', resizeMessage('Pod resize completed', allocated, generation));
    this.retry('pod_resized');
  }

  /** A resize could not be brought into force; it is tried again by the pod's lane. */
  failed(pod: Pod, message: string): void {
    const { conditions, event } = this.#deps;
    const { generation, changed } = conditions.setInProgress(pod, 'Error', message);
    if (changed) event(pod, 'Warning', 'ResizeError', resizeMessage('Pod resize error', this.allocated(pod), generation, message));
  }

  #allocate(pod: Pod): void {
    this.#deps.allocated.set(pod.metadata.uid, resourceInfoOf(pod, this.#deps.gates));
  }

  #others(pod: Pod, active: readonly Pod[]): Pod[] {
    return active.filter((p) => p.metadata.uid !== pod.metadata.uid).map((p) => this.allocated(p));
  }

  #push(pod: Pod): void {
    const { conditions, pod: podOf } = this.#deps;
    const { uid } = pod.metadata;
    if (this.#pending.includes(uid)) return;
    const waiting = [...this.#pending, uid].flatMap((id) => {
      const known = podOf(id);
      const since = conditions.list(id).find((c) => c.type === 'PodResizePending')?.lastTransitionTime;
      return known === undefined ? [] : [{ pod: known, allocated: this.allocated(known), since: since ?? undefined }];
    });
    this.#pending = orderPending(waiting).map((p) => p.pod.metadata.uid);
  }

  /** True when the resize is allocated. */
  #tryResize(pod: Pod): boolean {
    const { conditions, infeasible, admit, active, metrics, event } = this.#deps;
    const { uid, generation = 0 } = pod.metadata;
    const has = this.allocated(pod);
    if (has === pod) {
      conditions.clearPending(uid, 'reverted');
      return false;
    }
    const never = infeasible(pod, has);
    if (never !== undefined) {
      metrics.infeasible(never.detail);
      this.#wait(pod, 'Infeasible', never.message);
      return false;
    }
    const notYet = admit(pod, this.#others(pod, active()));
    if (notYet !== undefined) {
      if ('preempt' in notYet) void this.#makeRoom(uid, notYet);
      this.#wait(pod, 'Deferred', notYet.message);
      return false;
    }
    this.#allocate(pod);
    conditions.clearPending(uid, 'accepted');
    // A new resize has a generation of its own, and none of the faults of the one before.
    conditions.clearInProgress(uid);
    conditions.setInProgress(pod);
    event(pod, 'Normal', 'ResizeStarted', resizeMessage('Pod resize started', pod, generation));
    return true;
  }

  /** Once for each pod: what is being stopped already would be chosen again. */
  async #makeRoom(uid: string, preemption: Preemption): Promise<void> {
    const { preempt } = this.#deps;
    if (preempt === undefined || this.#makingRoom.has(uid)) return;
    this.#makingRoom.add(uid);
    await preempt(preemption);
    this.#makingRoom.delete(uid);
    this.retry('pod_terminated');
  }

  #wait(pod: Pod, reason: 'Deferred' | 'Infeasible', message: string): void {
    const { conditions, event } = this.#deps;
    if (!conditions.setPending(pod, reason, message)) return;
    const text = resizeMessage(`Pod resize ${reason}`, pod, pod.metadata.generation ?? 0, message);
    event(pod, 'Warning', `Resize${reason}`, text);
  }
}

/** A condition without its times. */
const essence = ({ type, reason, message, observedGeneration }: PodCondition) => [type, reason, message, observedGeneration];
