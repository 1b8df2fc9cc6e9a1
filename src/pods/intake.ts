import type { AdmissionVerdict, Preemption } from '../admission/chain.ts';
import type { Rejection } from '../admission/general-predicates.ts';
import { type PodUid, podUid } from '../api/brands.ts';
import { isMirrorPod, isStaticPod, podFullName } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { PodTimeline } from './ports.ts';
import type { PodStore } from './store.ts';

/** See AllocationManager. */
export interface PodAllocation {
  allocated(pod: Pod): Pod;
  added(pods: readonly Pod[]): void;
  updated(before: Pod | undefined, pod: Pod): void;
  removed(uid: string): void;
}

export interface IntakeDeps {
  store: PodStore;
  dispatcher: Dispatcher;
  timeline: PodTimeline;
  events: EventRecorder;
  log: Logger;
  /** Why the node cannot take a pod beside `others`, or whom to stop for it; undefined when it can. */
  admit(pod: Pod, others: readonly Pod[]): AdmissionVerdict;
  /** Stops pods to make room; never rejects. */
  preempt(preemption: Preemption): Promise<void>;
  /** Which resources a pod has, whatever its spec asks for. */
  allocation?: PodAllocation | undefined;
  /** Shows a pod as refused. */
  reject(pod: Pod, rejection: Rejection): void;
  /** All mirrors that the API server has; returns the full names of those that changed. */
  mirrorsSeen(mirrors: readonly Pod[]): string[];
  /** The API object of a pod changed: its status may have to be written (again). */
  apiObjectChanged(pod: Pod): void;
  /** Nothing of a pod is left to be done: its memory can go. */
  forget(pod: Pod): void;
}

/** Takes the full sets of the sources and tells the lanes what changed (contract: pod-lifecycle §1 and §3). */
export class Intake {
  readonly #deps: IntakeDeps;
  readonly #rejected = new Set<PodUid>();
  /** Critical pods that wait until others were stopped for them; and those others, which do not count any more. */
  readonly #waiting = new Map<PodUid, Pod>();
  readonly #preempted = new Set<PodUid>();

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  changed(source: string, all: readonly Pod[]): void {
    const { store, dispatcher, timeline, allocation } = this.#deps;
    const pods = source === 'api' ? this.#withoutMirrors(all) : all;
    const { added, updated, removed, reconciled, before } = store.applySet(source, pods);
    for (const pod of removed) this.#removed(source, pod);
    for (const pod of reconciled) {
      this.#deps.apiObjectChanged(pod);
      if ((pod.spec.readinessGates ?? []).length > 0) dispatcher.submit(podUid(pod.metadata.uid), { pod: this.#form(pod) });
    }
    for (const pod of updated) {
      this.#tell('UPDATE', source, pod);
      allocation?.updated(before.get(podUid(pod.metadata.uid)), pod);
      this.#deps.apiObjectChanged(pod);
      if (this.#waiting.has(podUid(pod.metadata.uid))) this.#waiting.set(podUid(pod.metadata.uid), pod);
      else if (!this.#rejected.has(podUid(pod.metadata.uid))) dispatcher.submit(podUid(pod.metadata.uid), { pod: this.#form(pod) });
    }
    for (const pod of added.toSorted(byCreation)) {
      this.#tell('ADD', source, pod);
      timeline.note(podUid(pod.metadata.uid), 'seen', source);
      this.begin(pod);
    }
    allocation?.added(added.filter((pod) => !this.#rejected.has(podUid(pod.metadata.uid))));
  }

  /** The pod as its lane is to see it. */
  #form(pod: Pod): Pod {
    return this.#deps.allocation?.allocated(pod) ?? pod;
  }

  /** Gives a desired pod its lane, unless the node has to refuse it. */
  begin(pod: Pod): void {
    const { dispatcher, admit, reject, events, log, timeline } = this.#deps;
    const { namespace, name } = pod.metadata;
    const uid = podUid(pod.metadata.uid);
    if (this.#rejected.has(uid) || this.#waiting.has(uid)) return;
    const known = dispatcher.state(uid) !== undefined;
    // Without a lane it is not among those that count.
    const verdict = known || isEnding(pod) ? undefined : admit(pod, this.active());
    if (verdict === undefined) {
      dispatcher.submit(uid, { pod: this.#form(pod) });
      return;
    }
    if ('preempt' in verdict) {
      void this.#preempt(pod, verdict);
      return;
    }
    const rejection = verdict;
    this.#rejected.add(uid);
    log.info('Pod rejected', { pod: `${namespace}/${name}`, podUID: uid, reason: rejection.reason, message: rejection.message });
    timeline.note(uid, 'rejected', rejection.reason);
    events.event(podEventObject(pod), 'Warning', rejection.reason, rejection.message);
    reject(pod, rejection);
  }

  /** The pod gets its lane when the others have stopped, unless it is taken away before. */
  async #preempt(pod: Pod, preemption: Preemption): Promise<void> {
    const { dispatcher, preempt, timeline } = this.#deps;
    const uid = podUid(pod.metadata.uid);
    const victims = preemption.preempt.map((victim) => podUid(victim.metadata.uid));
    timeline.note(uid, 'waits for room', preemption.preempt.map(podFullName).join(', '));
    this.#waiting.set(uid, pod);
    for (const victim of victims) this.#preempted.add(victim);
    await preempt(preemption);
    for (const victim of victims) this.#preempted.delete(victim);
    const newest = this.#waiting.get(uid);
    this.#waiting.delete(uid);
    if (newest !== undefined) dispatcher.submit(uid, { pod: this.#form(newest) });
  }

  isRejected(uid: PodUid): boolean {
    return this.#rejected.has(uid);
  }

  #removed(source: string, pod: Pod): void {
    const { dispatcher, forget, allocation } = this.#deps;
    const uid = podUid(pod.metadata.uid);
    this.#tell('REMOVE', source, pod);
    this.#rejected.delete(uid);
    this.#waiting.delete(uid);
    allocation?.removed(uid);
    if (!dispatcher.submit(uid, { kills: [{ cause: 'removed' }] })) forget(pod);
    else if (dispatcher.state(uid)?.phase === 'finished' && dispatcher.remove(uid)) forget(pod);
  }

  /** Mirrors are no pods of their own: a change of one is a reason to look at the static pod that it shows. */
  #withoutMirrors(all: readonly Pod[]): Pod[] {
    const { store, dispatcher, mirrorsSeen, apiObjectChanged } = this.#deps;
    const changed = new Set(mirrorsSeen(all.filter(isMirrorPod)));
    if (changed.size > 0) {
      for (const pod of store.all()) {
        if (!isStaticPod(pod) || !changed.has(podFullName(pod))) continue;
        apiObjectChanged(pod);
        dispatcher.submit(podUid(pod.metadata.uid), { wake: true });
      }
    }
    return all.filter((pod) => !isMirrorPod(pod));
  }

  /** The pods that count against the node. */
  active(): Pod[] {
    const { store, dispatcher } = this.#deps;
    return store.all().filter((pod) => {
      const other = podUid(pod.metadata.uid);
      if (this.#rejected.has(other) || this.#preempted.has(other)) return false;
      if (this.#waiting.has(other)) return true;
      const state = dispatcher.state(other);
      return state !== undefined && state.phase !== 'finished' && state.phase !== 'terminated';
    });
  }

  #tell(what: string, source: string, pod: Pod): void {
    this.#deps.log.debug(2, `SyncLoop ${what}`, { source, pods: [`${pod.metadata.namespace}/${pod.metadata.name}`] });
  }
}

const isEnding = (pod: Pod) =>
  typeof pod.metadata.deletionTimestamp === 'string' || pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';

function byCreation(a: Pod, b: Pod): number {
  const [x, y] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return x < y ? -1 : x > y ? 1 : 0;
}
