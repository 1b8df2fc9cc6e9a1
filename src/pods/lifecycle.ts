import type { PodUid } from '../api/brands.ts';
import type { Pod, PodPhase } from '../api/types.ts';

/** Where a lane is with its pod. It only moves to the right, until a restart request begins it anew. */
export type PodLifecyclePhase = 'sync' | 'terminating' | 'terminated' | 'finished';

export type KillCause = 'deleted' | 'removed' | 'orphan' | 'terminal' | 'requested';

/** What the API is to show of a pod that was stopped for a reason of its own (eviction, deadline, shutdown). */
export interface StatusOverride {
  phase: PodPhase;
  reason: string;
  message: string;
  /** The `DisruptionTarget` condition that goes with it. */
  disruption?: { reason: string; message: string };
}

/** A wish to stop the pod. `graceSeconds` only ever shortens the grace of the pod. */
export interface KillRequest {
  cause: KillCause;
  graceSeconds?: number;
  status?: StatusOverride;
}

/** What a lane is told. Two of them merge into one: newest pod, union of the kills, smallest grace. */
export interface PodUpdate {
  pod?: Pod;
  kills?: KillRequest[];
  /** Look again; carries no state. */
  wake?: boolean;
}

export interface PodLifecycle {
  uid: PodUid;
  phase: PodLifecyclePhase;
  /** The newest desired form; for a pod that only the runtime knows, what could be read from its labels. */
  pod: Pod;
  /** Only the runtime knows this pod. */
  orphan: boolean;
  causes: ReadonlySet<KillCause>;
  /** Seconds; undefined while nothing shortened the pod's own grace. */
  graceSeconds: number | undefined;
  status: StatusOverride | undefined;
  /** The same UID was asked for again while it was on its way out. */
  restart: Pod | undefined;
}

export function mergeUpdates(a: PodUpdate | undefined, b: PodUpdate): PodUpdate {
  if (a === undefined) return b;
  const pod = b.pod ?? a.pod;
  const kills = [...(a.kills ?? []), ...(b.kills ?? [])];
  // A pod that is asked for after it was removed takes the removal back only if the lane has not acted on it yet.
  const kept = b.pod !== undefined && (b.kills ?? []).length === 0 ? kills.filter((k) => k.cause !== 'removed') : kills;
  return { ...(pod === undefined ? {} : { pod }), kills: kept, wake: a.wake === true || b.wake === true };
}

export function newLifecycle(uid: PodUid, pod: Pod, orphan: boolean): PodLifecycle {
  return { uid, phase: 'sync', pod, orphan, causes: new Set(), graceSeconds: undefined, status: undefined, restart: undefined };
}

/** The state after an update: pure. */
export function applyUpdate(state: PodLifecycle, update: PodUpdate): PodLifecycle {
  let next = state;
  const kills = [...(update.kills ?? [])];
  if (update.pod !== undefined) {
    if (isDeleted(update.pod)) kills.push({ cause: 'deleted' });
    const phase = update.pod.status?.phase;
    if (phase === 'Failed' || phase === 'Succeeded') kills.push({ cause: 'terminal' });
    const again = state.phase !== 'sync' && !isDeleted(update.pod) && isTakenAway(state);
    if (again && state.phase === 'finished') return applyUpdate(newLifecycle(state.uid, update.pod, false), { kills });
    next = again ? { ...next, restart: update.pod } : { ...next, pod: update.pod, orphan: false };
  }
  if (kills.length === 0) return next;
  const causes = new Set([...next.causes, ...kills.map((k) => k.cause)]);
  const restart = kills.some((k) => k.cause === 'removed' || k.cause === 'deleted') ? undefined : next.restart;
  let phase = next.phase === 'sync' ? 'terminating' : next.phase;
  const taken = { ...next, causes };
  // What ended by itself is kept until it is taken away: then what it left is cleared.
  if (phase === 'finished' && isTakenAway(taken) && !isTakenAway(next)) phase = 'terminated';
  const status = kills.find((k) => k.status !== undefined)?.status ?? next.status;
  return { ...next, phase, causes, restart, status, graceSeconds: shortest(next, kills) };
}

const isDeleted = (pod: Pod) => typeof pod.metadata.deletionTimestamp === 'string';

/** Nobody asks for this pod any more (one that ended by itself stays ended, and is kept). It may be asked for again. */
export const isTakenAway = (state: Pick<PodLifecycle, 'causes'>) =>
  state.causes.has('removed') || state.causes.has('deleted') || state.causes.has('orphan');

/** The grace only shrinks; the floor is one second (contract: pod-lifecycle §4). */
function shortest(state: PodLifecycle, kills: readonly KillRequest[]): number | undefined {
  const candidates = kills.flatMap((k) => (k.graceSeconds === undefined ? [] : [Math.max(1, k.graceSeconds)]));
  const deletion = state.pod.metadata.deletionGracePeriodSeconds;
  if (typeof deletion === 'number') candidates.push(Math.max(1, deletion));
  if (state.graceSeconds !== undefined) candidates.push(state.graceSeconds);
  return candidates.length === 0 ? undefined : Math.min(...candidates);
}

/** True when what runs under `before` must stop at once for `after`: it began to terminate, or its grace got shorter. */
export function mustAbort(before: PodLifecycle, after: PodLifecycle): boolean {
  if (before.phase === 'sync') return after.phase !== 'sync';
  const had = before.graceSeconds ?? Number.POSITIVE_INFINITY;
  return before.phase === 'terminating' && (after.graceSeconds ?? Number.POSITIVE_INFINITY) < had;
}

/** What one step of the worker achieved. */
export type StepResult =
  /** Stay in this phase. `retryAfterMs` undefined: wait for the next update only. */
  | { kind: 'stay'; retryAfterMs: number | undefined }
  /** The pod ended by itself (sync), or the phase is complete (terminating, terminated). */
  | { kind: 'advance'; status?: StatusOverride };

export function applyStep(state: PodLifecycle, result: StepResult): PodLifecycle {
  if (result.kind === 'stay') return state;
  switch (state.phase) {
    case 'sync':
      return {
        ...state,
        phase: 'terminating',
        causes: new Set([...state.causes, 'terminal']),
        status: result.status ?? state.status,
      };
    case 'terminating':
      return { ...state, phase: 'terminated' };
    default:
      return state.restart === undefined ? { ...state, phase: 'finished' } : newLifecycle(state.uid, state.restart, false);
  }
}
