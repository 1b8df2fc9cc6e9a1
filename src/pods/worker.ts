import type { PodUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import { isCriError } from '../cri/errors.ts';
import type { Clock } from '../host/clock.ts';
import { jitter, type Random } from '../host/random.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { PodCache } from '../pleg/cache.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { LaneMemory } from '../sync/context.ts';
import { podGraceSeconds } from '../sync/grace.ts';
import { killPod, textOf } from '../sync/kill.ts';
import type { LaneStep } from './lane.ts';
import { isTakenAway, type PodLifecycle, type StepResult } from './lifecycle.ts';
import type {
  PodCgroupsPort,
  PodObserver,
  PodProbes,
  PodTimeline,
  PodUserNamespaces,
  PodVolumes,
  RuntimeSuspect,
  StatusPublisher,
} from './ports.ts';
import { type SyncStepDeps, syncPod } from './sync-pod.ts';

/** Contract pod-lifecycle §4: a failed step is tried again after 10 s and up to half more. */
const ERROR_RETRY_MS = 10_000;
const FIRST_RETRY_MS = 1_000;

export interface WorkerDeps extends SyncStepDeps {
  clock: Clock;
  random: Random;
  log: Logger;
  events: EventRecorder;
  observer: PodObserver;
  cache: PodCache;
  publisher: StatusPublisher;
  cgroups: PodCgroupsPort;
  volumes: PodVolumes;
  userNamespaces?: Pick<PodUserNamespaces, 'release'> | undefined;
  probes: PodProbes;
  runtimeState: RuntimeSuspect;
  timeline: PodTimeline;
  /** Removes what a stopped pod left in the runtime and on disk; see PodCleanup. */
  cleanup(uid: PodUid, pod: Pod): Promise<void>;
}

/** The steps of a pod's life: keep it as desired, stop it, clear what is left. Called by the pod's lane only. */
export class PodWorker {
  readonly #deps: WorkerDeps;
  readonly #memories = new Map<PodUid, LaneMemory>();
  readonly #failedSteps = new Map<PodUid, number>();
  /** Pods whose life here is over while their lane still exists. */
  readonly #ended = new Set<PodUid>();

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
  }

  readonly step: LaneStep = async (state, signal) => {
    const { uid } = state;
    try {
      const result = await this.#phase(state, signal);
      this.#failedSteps.delete(uid);
      return result;
    } catch (err) {
      signal.throwIfAborted();
      return this.#failed(state, err);
    }
  };

  /** Drops what is kept of a pod whose lane is gone. */
  forget(uid: PodUid): void {
    this.#memories.delete(uid);
    this.#failedSteps.delete(uid);
    this.#ended.delete(uid);
    this.#deps.cache.delete(uid);
    this.#deps.objects?.unregister(uid);
    this.#deps.publisher.forget(uid);
  }

  #phase(state: PodLifecycle, signal: AbortSignal): Promise<StepResult> {
    switch (state.phase) {
      case 'sync':
        // The same UID again, after it was taken away: it begins as if it had never been here.
        if (this.#ended.has(state.uid)) this.forget(state.uid);
        return syncPod(this.#deps, state, this.#memory(state.uid), signal);
      case 'terminating':
        return this.#terminating(state, signal);
      default:
        return this.#terminated(state, signal);
    }
  }

  async #terminating(state: PodLifecycle, signal: AbortSignal): Promise<StepResult> {
    const deps = this.#deps;
    const memory = this.#memory(state.uid);
    const { pod } = state;
    const observed = await this.#observe(state.uid, signal);
    if (!state.orphan) deps.publisher.publish(pod, observed, { terminal: false, override: state.status });
    deps.probes.stopLivenessAndStartup(pod);
    deps.timeline.note(state.uid, 'stopping', [...state.causes].join(','));
    try {
      await killPod(deps.sync, pod, observed, memory, podGraceSeconds(pod, state.graceSeconds), signal);
    } catch (err) {
      signal.throwIfAborted();
      deps.events.event(podEventObject(pod), 'Warning', 'FailedKillPod', `error killing pod: ${textOf(err)}`);
      throw err;
    }
    deps.probes.remove(pod);
    const after = await this.#observe(state.uid, signal);
    const alive = after.containers.find((c) => c.state === 'running');
    if (alive !== undefined) throw new Error(`container ${alive.name} still runs after it was stopped`);
    if (!state.orphan) deps.publisher.publish(pod, after, { terminal: true, override: state.status });
    deps.timeline.note(state.uid, 'stopped');
    return { kind: 'advance' };
  }

  async #terminated(state: PodLifecycle, signal: AbortSignal): Promise<StepResult> {
    const deps = this.#deps;
    await deps.volumes.unmount(state.pod, signal);
    deps.objects?.unregister(state.uid);
    await deps.cgroups.destroyPod(state.pod);
    await deps.userNamespaces?.release(state.uid);
    // What is asked for again goes on where it was: its counts and logs stay.
    if (isTakenAway(state) && state.restart === undefined) await deps.cleanup(state.uid, state.pod);
    if (!state.orphan) deps.publisher.terminated(state.pod);
    deps.timeline.note(state.uid, 'terminated');
    this.#memories.delete(state.uid);
    this.#ended.add(state.uid);
    return { kind: 'advance' };
  }

  async #observe(uid: PodUid, signal: AbortSignal): Promise<ObservedPod> {
    const observed = await this.#deps.observer.observe(uid, signal);
    this.#deps.cache.put(observed);
    return observed;
  }

  /** One warning a failed step; the wait grows to the contract's. A runtime that is away is waited for elsewhere. */
  #failed(state: PodLifecycle, err: unknown): StepResult {
    const { log, random, runtimeState } = this.#deps;
    const { namespace, name } = state.pod.metadata;
    const count = (this.#failedSteps.get(state.uid) ?? 0) + 1;
    this.#failedSteps.set(state.uid, count);
    const away = isCriError(err, 'Unavailable') || (err instanceof Error && isCriError(err.cause, 'Unavailable'));
    if (away) runtimeState.suspect();
    const base = away ? ERROR_RETRY_MS : Math.min(ERROR_RETRY_MS, FIRST_RETRY_MS * 2 ** (count - 1));
    log.error(err, 'Error syncing pod, skipping', { pod: `${namespace}/${name}`, podUID: state.uid, phase: state.phase });
    return { kind: 'stay', retryAfterMs: jitter(random, base, 0.5) };
  }

  #memory(uid: PodUid): LaneMemory {
    let memory = this.#memories.get(uid);
    if (memory === undefined) {
      memory = { stoppedSandboxes: new Set(), mustStart: new Set() };
      this.#memories.set(uid, memory);
    }
    return memory;
  }
}
