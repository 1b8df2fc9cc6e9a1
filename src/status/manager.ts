import { isDeepStrictEqual } from 'node:util';
import { type PodUid, podUid } from '../api/brands.ts';
import { type ContainerKind, isStaticPod } from '../api/pod.ts';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { containersReadyCondition, DisruptionTarget, KubeletConditions, readyCondition } from './conditions.ts';
import { normalizeStatus } from './normalize.ts';
import { terminatedStatus } from './terminate.ts';
import { isoSeconds } from './times.ts';
import { illegalTransition } from './transitions.ts';

/** A stored status. The version grows with every change of this pod's status; nothing in it is ever modified in place. */
export interface StoredStatus {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly version: number;
  /** `terminate` was called: the agent holds nothing of the pod any more. */
  readonly finished: boolean;
}

/** Who wants to know of changed statuses: the API writer, the live table. Must not throw and must not wait. */
export interface StatusSink {
  statusChanged(uid: PodUid): void;
}

export interface StatusManagerDeps {
  clock: Pick<Clock, 'now'>;
  log: Logger;
  /** The status that the API server holds of a pod not set here before (of a static pod: its mirror's). Default: the pod's own. */
  apiStatus?(pod: Pod): PodStatus | undefined;
  /** A container was seen to end (metric terminated_containers_total). */
  onTerminated?(kind: ContainerKind, exitCode: number, reason: string): void;
}

/**
 * The last status of every pod, versioned. Refuses to let an ended container come back to life and tells sinks of what
 * changed; who writes to the API server reads with `get` and merges with `mergeForApi`. All methods are synchronous.
 */
export class StatusManager {
  readonly #deps: StatusManagerDeps;
  readonly #stored = new Map<PodUid, StoredStatus>();
  readonly #sinks = new Set<StatusSink>();

  constructor(deps: StatusManagerDeps) {
    this.#deps = deps;
  }

  /** Adds a sink; the returned function removes it. */
  subscribe(sink: StatusSink): () => void {
    this.#sinks.add(sink);
    return () => this.#sinks.delete(sink);
  }

  /** The last status; not to be modified. */
  get(uid: PodUid): PodStatus | undefined {
    return this.#stored.get(uid)?.status;
  }

  /** The last status with its version, for a writer. */
  entry(uid: PodUid): StoredStatus | undefined {
    return this.#stored.get(uid);
  }

  entries(): IterableIterator<[PodUid, StoredStatus]> {
    return this.#stored.entries();
  }

  /**
   * Stores a status. False when nothing changed that the kubelet answers for, or when the change is refused. A pod
   * under deletion counts as changed each time: its deletion hangs on the writer looking at it again.
   */
  set(pod: Pod, status: PodStatus): boolean {
    const { generation } = pod.metadata;
    const next = generation ? { ...status, observedGeneration: generation } : status;
    return this.#update(pod, next, Boolean(pod.metadata.deletionTimestamp), false);
  }

  /** Ends the pod's status (`terminatedStatus`) and marks it finished. Always counts as a change unless refused. */
  terminate(pod: Pod): boolean {
    const status = this.#stored.get(uidOf(pod))?.status ?? pod.status ?? {};
    return this.#update(pod, terminatedStatus(pod, status), true, true);
  }

  /** Takes a readiness result at once, without waiting for the next sync. `containerId` with its `runtime://`. */
  setContainerReady(uid: PodUid, containerId: string, ready: boolean): boolean {
    return this.#patchContainer(uid, containerId, (s) => (s.ready === ready ? undefined : { ...s, ready }));
  }

  /** Takes a startup result at once. `containerId` with its `runtime://`. */
  setContainerStarted(uid: PodUid, containerId: string, started: boolean): boolean {
    return this.#patchContainer(uid, containerId, (s) => (s.started === started ? undefined : { ...s, started }));
  }

  /** Forgets a pod. */
  remove(uid: PodUid): void {
    this.#stored.delete(uid);
  }

  /** Forgets every pod that is not in `keep`. */
  removeOrphans(keep: ReadonlySet<PodUid>): void {
    for (const uid of this.#stored.keys()) if (!keep.has(uid)) this.#stored.delete(uid);
  }

  #patchContainer(uid: PodUid, containerId: string, patch: (s: ContainerStatus) => ContainerStatus | undefined): boolean {
    const stored = this.#stored.get(uid);
    if (!stored) return false;
    const { pod, status } = stored;
    const next: PodStatus = { ...status };
    for (const list of ['containerStatuses', 'initContainerStatuses'] as const) {
      const at = status[list]?.findIndex((s) => s.containerID === containerId) ?? -1;
      const before = status[list]?.[at];
      if (!before) continue;
      const after = patch(before);
      if (!after) return false;
      next[list] = status[list]?.with(at, after) ?? [];
      next.conditions = withReadiness(pod, next);
      return this.#update(pod, next, false, false);
    }
    this.#deps.log.debug(2, 'Probe result for a container that the status does not know', { podUID: uid, containerID: containerId });
    return false;
  }

  #update(pod: Pod, status: PodStatus, force: boolean, finished: boolean): boolean {
    const { clock, log, apiStatus } = this.#deps;
    const uid = uidOf(pod);
    const stored = this.#stored.get(uid);
    const old = stored?.status ?? apiStatus?.(pod) ?? pod.status ?? {};
    const refused = illegalTransition(pod, old, status);
    if (refused !== undefined) {
      log.error(undefined, 'Status update on pod aborted', {
        pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
        podUID: uid,
        cause: refused,
      });
      return false;
    }
    const next = withoutEmptyLists(normalizeStatus(pod, status, old, isoSeconds(clock.now())));
    this.#reportEnds(old, next);
    if (stored && !force && sameForKubelet(stored.status, next)) {
      // The newest pod is kept even so: probe results are judged by its spec.
      if (stored.pod !== pod) this.#stored.set(uid, { ...stored, pod });
      return false;
    }
    this.#stored.set(uid, {
      pod,
      status: next,
      version: (stored?.version ?? 0) + 1,
      // A static pod of the same UID may start again after it ended.
      finished: finished || (stored?.finished === true && !isStaticPod(pod)),
    });
    for (const sink of this.#sinks) sink.statusChanged(uid);
    return true;
  }

  #reportEnds(old: PodStatus, next: PodStatus): void {
    const report = this.#deps.onTerminated;
    if (!report) return;
    const compare = (kind: ContainerKind, before: ContainerStatus[] = [], after: ContainerStatus[] = []) => {
      for (const { name, state } of after) {
        if (!state?.terminated || before.find((s) => s.name === name)?.state?.terminated) continue;
        report(kind, state.terminated.exitCode, state.terminated.reason ?? '');
      }
    };
    compare('init', old.initContainerStatuses, next.initContainerStatuses);
    compare('regular', old.containerStatuses, next.containerStatuses);
    compare('ephemeral', old.ephemeralContainerStatuses, next.ephemeralContainerStatuses);
  }
}

function uidOf(pod: Pod): PodUid {
  return podUid(pod.metadata.uid);
}

/** The conditions with Ready and ContainersReady judged anew; the dates are set when the status is stored. */
function withReadiness(pod: Pod, status: PodStatus): PodCondition[] {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const conditions = [...(status.conditions ?? [])];
  const phase = status.phase ?? 'Unknown';
  for (const fresh of [readyCondition(pod, conditions, statuses, phase), containersReadyCondition(pod, statuses, phase)]) {
    const at = conditions.findIndex((c) => c.type === fresh.type);
    if (at < 0) conditions.push(fresh);
    else conditions[at] = fresh;
  }
  return conditions;
}

/** Equal in all that the kubelet answers for: dates of conditions and conditions of others do not count. */
function sameForKubelet(a: PodStatus, b: PodStatus): boolean {
  const ours = (s: PodStatus) =>
    new Map(
      (s.conditions ?? [])
        .filter((c) => KubeletConditions.has(c.type) || c.type === DisruptionTarget)
        .map((c) => [c.type, [c.status, c.reason ?? '', c.message ?? '']]),
    );
  return isDeepStrictEqual(ours(a), ours(b)) && isDeepStrictEqual({ ...a, conditions: [] }, { ...b, conditions: [] });
}

/** An empty list and none are the same to the API. */
function withoutEmptyLists(status: PodStatus): PodStatus {
  return Object.fromEntries(Object.entries(status).filter(([, v]) => v !== undefined && !(Array.isArray(v) && v.length === 0)));
}
