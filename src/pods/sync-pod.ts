import { formatDurationMs } from '../api/duration.ts';
import { findContainer, formatPod, isCriticalPod } from '../api/pod.ts';
import { shouldRestart, shouldRestartAllContainers } from '../api/restart.ts';
import type { Container, Pod, PodStatus } from '../api/types.ts';
import { isCriError } from '../cri/errors.ts';
import type { Clock } from '../host/clock.ts';
import { jitter, type Random } from '../host/random.ts';
import { containerEventObject, podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { PodCache } from '../pleg/cache.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { BackOffWait, Plan, PodAction } from '../sync/actions.ts';
import type { LaneMemory, StageContext, SyncDeps } from '../sync/context.ts';
import type { CrashLoop } from '../sync/crash-loop.ts';
import { deadlineExceeded, deadlineRemainingMs } from '../sync/deadline.ts';
import { isBackOff, SyncError } from '../sync/errors.ts';
import { execute } from '../sync/execute.ts';
import { ImageVolumes } from '../sync/image-volumes.ts';
import { killPod, textOf } from '../sync/kill.ts';
import { plan } from '../sync/plan.ts';
import { statusesOf } from '../sync/plan-input.ts';
import type { PodLifecycle, StepResult } from './lifecycle.ts';
import type {
  NetworkState,
  PodCgroupsPort,
  PodDirs,
  PodObjects,
  PodObserver,
  PodProbes,
  PodResizes,
  PodTimeline,
  PodVolumes,
  RuntimeSuspect,
  StatusPublisher,
} from './ports.ts';
import type { Slot, StartSlots } from './start-slots.ts';

/** Contract pod-lifecycle §4, "requeue after". */
const ERROR_RETRY_MS = 10_000;
const NETWORK_RETRY_MS = 1_000;
/** A plan that still wants something after so many stages is left for the next sync. */
const MAX_STAGES = 64;

export interface SyncStepDeps {
  sync: SyncDeps;
  clock: Clock;
  random: Random;
  events: EventRecorder;
  observer: PodObserver;
  cache: PodCache;
  publisher: StatusPublisher;
  slots: StartSlots;
  crashLoop: CrashLoop;
  /** Removes older dead instances of the pod's containers. Never rejects. */
  deadContainers: { prune(observed: ObservedPod['containers']): Promise<void> };
  cgroups: PodCgroupsPort;
  volumes: PodVolumes;
  /** Absent on a node without an API server. */
  objects?: PodObjects | undefined;
  dirs: PodDirs;
  probes: PodProbes;
  resizes?: PodResizes | undefined;
  network: NetworkState;
  runtimeState: RuntimeSuspect;
  timeline: PodTimeline;
  hash(container: Container): string;
  syncFrequencyMs: number;
}

/**
 * One sync of a pod: look, plan, execute, look again, until there is nothing to do or something to wait for. What it
 * did is visible in the status after each stage. Rejects on an abort, or when the runtime does not answer.
 */
export async function syncPod(deps: SyncStepDeps, state: PodLifecycle, memory: LaneMemory, signal: AbortSignal): Promise<StepResult> {
  const run = new PodSync(deps, state.pod, state, memory, signal);
  try {
    return await run.run();
  } finally {
    run.done();
  }
}

class PodSync {
  readonly #deps: SyncStepDeps;
  readonly #pod: Pod;
  readonly #state: PodLifecycle;
  readonly #memory: LaneMemory;
  readonly #signal: AbortSignal;
  readonly #imageVolumes: ImageVolumes;
  readonly #sandboxes = new Map<number, ReturnType<SyncDeps['specs']['sandbox']>>();
  /** Containers that do not run for a reason that the status knows. */
  #explained: ReadonlySet<string> = new Set();
  #slot: Slot | undefined;
  #prepared = false;
  /** A resize is tried once a sync, and does not keep containers from starting. */
  #resize: { failure: SyncError | undefined } | undefined;
  #madeUserNamespace = false;

  constructor(deps: SyncStepDeps, pod: Pod, state: PodLifecycle, memory: LaneMemory, signal: AbortSignal) {
    this.#deps = deps;
    this.#pod = pod;
    this.#state = state;
    this.#memory = memory;
    this.#signal = signal;
    this.#imageVolumes = new ImageVolumes(deps.sync.images, pod);
  }

  /** Gives the start slot back, however the sync ended. */
  done(): void {
    this.#slot?.release();
  }

  async run(): Promise<StepResult> {
    const deps = this.#deps;
    const pod = this.#pod;
    let [observed, status] = await this.#look(undefined, true);
    if (isTerminal(status)) return { kind: 'advance' };
    const timeLeft = deadlineRemainingMs(pod, status?.startTime, deps.clock.now());
    if (timeLeft !== undefined && timeLeft <= 0) {
      deps.events.event(podEventObject(pod), 'Normal', deadlineExceeded.reason, deadlineExceeded.message);
      return { kind: 'advance', status: deadlineExceeded };
    }
    deps.objects?.register(pod);

    const noNetwork = pod.spec.hostNetwork === true ? undefined : deps.network.notReady();
    if (noNetwork !== undefined) {
      deps.events.event(podEventObject(pod), 'Warning', 'NetworkNotReady', `network is not ready: ${noNetwork}`);
      return this.#retry(NETWORK_RETRY_MS);
    }

    if (await this.#hasLostGroup(observed)) {
      await this.#stop(observed);
      [observed, status] = await this.#look();
      if (isTerminal(status)) return { kind: 'advance' };
    }
    deps.probes.add(pod);
    let waits: BackOffWait[] = [];
    let failures = new Map<string, SyncError>();
    for (let stage = 0; stage < MAX_STAGES; stage++) {
      const next = this.#plan(observed, status);
      waits = next.waits;
      if (next.actions.length === 0) break;
      const made: StageContext['made'] = { sandboxes: [], containers: [] };
      failures = await this.#stage(observed, next.actions, made);
      this.#note(failures, waits);
      // Where a stage only made things, those are all there is to look at.
      const onlyMade = failures.size === 0 && next.actions.every((a) => a.type === 'RunPodSandbox' || a.type === 'StartContainer');
      [observed, status] = await this.#look(onlyMade ? { previous: observed, made } : undefined);
      if (isTerminal(status)) return { kind: 'advance' };
      if (this.#noteResize(next.actions, failures)) failures = new Map();
      // What was killed to start again is started although another container failed.
      const killed = next.actions.some((a) => a.type === 'KillContainer' && a.thenStart && !failures.has(a.name));
      if (failures.size > 0 && !killed) break;
    }
    this.#note(failures, waits);
    this.#tellBackOff(waits);
    if (this.#resize !== undefined) {
      if (this.#resize.failure !== undefined) failures.set('', this.#resize.failure);
      await deps.resizes?.observed(pod, observed);
      status = undefined;
    }
    // A back-off that the last look did not know of yet must be seen in the status at once.
    if (status === undefined || failures.size > 0 || waits.length > 0) {
      status = this.#publish(observed);
      if (failures.size === 0 && isTerminal(status)) return { kind: 'advance' };
    }
    if (!this.#prepared && isStarted(observed)) await deps.volumes.refresh(pod, this.#signal);
    await deps.deadContainers.prune(observed.containers);
    return this.#outcome(failures, waits, timeLeft);
  }

  /** True when the pod runs without its control group: somebody took that away, and no limit holds any more. */
  async #hasLostGroup({ containers }: ObservedPod): Promise<boolean> {
    return containers.some((c) => c.state === 'running') && !(await this.#deps.cgroups.exists(this.#pod));
  }

  /** Stops all of the pod, so that it begins anew in a group of its own (contract pod-lifecycle §4, step 7). */
  async #stop(observed: ObservedPod): Promise<void> {
    const { sync, timeline } = this.#deps;
    const { uid, graceSeconds } = this.#state;
    sync.log.info('The control group of the pod is gone, stopping the pod to start it anew', { pod: formatPod(this.#pod), podUID: uid });
    timeline.note(uid, 'KillPod', 'its control group is gone');
    await killPod(sync, this.#pod, observed, this.#memory, graceSeconds, this.#signal);
  }

  /**
   * Looks at the runtime and publishes what it shows. Nothing is published while a container is between its kill and its
   * new start: once shown as ended for good it could not be shown as running again, and a pod of such containers would be over.
   */
  async #look(after?: { previous: ObservedPod; made: StageContext['made'] }, first = false): Promise<[ObservedPod, PodStatus | undefined]> {
    const observed = await this.#observe(after);
    this.#deps.cache.put(observed);
    if (first) await this.#deps.resizes?.observed(this.#pod, observed);
    if ([...this.#memory.mustStart].some((name) => !this.#explained.has(name))) return [observed, undefined];
    return [observed, this.#publish(observed)];
  }

  #publish(observed: ObservedPod): PodStatus {
    return this.#deps.publisher.publish(this.#pod, observed, { terminal: false, override: this.#state.status });
  }

  #observe(after?: { previous: ObservedPod; made: StageContext['made'] }): Promise<ObservedPod> {
    const { observer, cache } = this.#deps;
    const { uid } = this.#state;
    if (after !== undefined) return observer.update(after.previous, after.made, this.#signal);
    return cache.get(uid) === undefined ? observer.first(uid, this.#signal) : observer.observe(uid, this.#signal);
  }

  #plan(observed: ObservedPod, status: PodStatus | undefined): Plan {
    const { crashLoop, probes, resizes, hash } = this.#deps;
    const pod = this.#pod;
    return plan({
      pod,
      observed,
      stoppedSandboxes: this.#memory.stoppedSandboxes,
      mustStart: this.#memory.mustStart,
      restartingAll: shouldRestartAllContainers(pod, observed.containers, status),
      backOff: (container, exited) => crashLoop.wait(pod, container, exited),
      probe: (id, kind) => probes.result(id, kind),
      resize: this.#resize === undefined ? resizes?.input(pod) : undefined,
      hash,
      shouldRestart: (container, statuses) => shouldRestart(pod, container, statuses, false),
    });
  }

  async #stage(observed: ObservedPod, actions: readonly PodAction[], made: StageContext['made']): Promise<Map<string, SyncError>> {
    const { sync, crashLoop, slots, timeline } = this.#deps;
    const pod = this.#pod;
    const failures = new Map<string, SyncError>();
    if (actions.some((a) => a.type === 'RunPodSandbox')) {
      this.#madeUserNamespace = pod.spec.hostUsers === false;
      this.#slot ??= await slots.acquire(isCriticalPod(pod), this.#signal);
    }
    if (actions.some((a) => a.type === 'RunPodSandbox' || a.type === 'StartContainer')) {
      const failure = await this.#prepare();
      if (failure !== undefined) return failures.set('', failure);
    }
    for (const action of actions) {
      timeline.note(this.#state.uid, action.type, 'name' in action ? action.name : undefined);
      if (action.type !== 'StartContainer') continue;
      const exited = statusesOf(observed, action.name).find((s) => s.state === 'exited');
      const container = findContainer(pod, action.name)?.container;
      if (exited !== undefined && container !== undefined) crashLoop.restarted(pod, container, exited);
    }
    const ctx: StageContext = {
      pod,
      observed,
      memory: this.#memory,
      sandbox: (attempt) => this.#sandbox(attempt),
      imageVolumes: this.#imageVolumes,
      slot: this.#slot ?? noSlot,
      signal: this.#signal,
      made,
      failures,
      graceOverride: this.#state.graceSeconds,
    };
    await execute(sync, ctx, actions);
    return failures;
  }

  /** True when the stage was a resize: its failure shows in a condition, and the sync goes on. */
  #noteResize(actions: readonly PodAction[], failures: ReadonlyMap<string, SyncError>): boolean {
    if (!actions.some((a) => a.type === 'ResizePod')) return false;
    const [failure] = failures.values();
    this.#resize = { failure };
    this.#deps.resizes?.tried(this.#pod, failure?.message);
    return true;
  }

  /** Everything that a container needs on the node before it can be made: once a sync. */
  async #prepare(): Promise<SyncError | undefined> {
    if (this.#prepared) return undefined;
    const { cgroups, volumes, dirs, events } = this.#deps;
    const pod = this.#pod;
    const object = podEventObject(pod);
    const steps = [
      this.#guard(cgroups.ensurePod(pod), 'FailedCreatePodContainer', (m) => {
        events.event(object, 'Warning', 'FailedCreatePodContainer', `unable to ensure pod container exists: ${m}`);
      }),
      this.#guard(dirs.make(pod), 'FailedMakePodDataDirectories', (m) => {
        events.event(object, 'Warning', 'Failed', `error making pod data directories: ${m}`);
      }).then(async (failure) => {
        if (failure !== undefined) return failure;
        const mounted = volumes.mount(pod, this.#signal);
        return this.#guard(this.#slot?.whileSlow(mounted) ?? mounted, 'FailedMount', (m) =>
          events.event(object, 'Warning', 'FailedMount', m),
        );
      }),
    ];
    const failure = (await Promise.all(steps)).find((f) => f !== undefined);
    this.#signal.throwIfAborted();
    this.#prepared = failure === undefined;
    if (this.#prepared) this.#deps.resizes?.prepared(pod);
    return failure;
  }

  async #guard(
    work: Promise<void>,
    code: 'FailedCreatePodContainer' | 'FailedMakePodDataDirectories' | 'FailedMount',
    tell: (message: string) => void,
  ): Promise<SyncError | undefined> {
    try {
      await work;
      return undefined;
    } catch (err) {
      if (!this.#signal.aborted) tell(textOf(err));
      return new SyncError(code, textOf(err), { cause: err });
    }
  }

  #sandbox(attempt: number) {
    let made = this.#sandboxes.get(attempt);
    if (made === undefined) {
      made = this.#deps.sync.specs.sandbox(this.#pod, attempt);
      this.#sandboxes.set(attempt, made);
    }
    return made;
  }

  /** Puts the reasons why containers do not run where the status takes them from. */
  #note(failures: ReadonlyMap<string, SyncError>, waits: readonly BackOffWait[]): void {
    const reasons = new Map<string, { reason: string; message: string }>();
    for (const [container, failure] of failures)
      if (container !== '') reasons.set(container, { reason: failure.code, message: failure.message });
    for (const wait of waits) {
      const message = `back-off ${formatDurationMs(wait.delayMs)} restarting failed container=${wait.name} pod=${formatPod(this.#pod)}`;
      reasons.set(wait.name, { reason: 'CrashLoopBackOff', message });
    }
    this.#explained = new Set(reasons.keys());
    this.#deps.publisher.noteFailures(this.#state.uid, reasons);
  }

  #tellBackOff(waits: readonly BackOffWait[]): void {
    for (const { name } of waits) {
      const text = `Back-off restarting failed container ${name} in pod ${formatPod(this.#pod)}`;
      this.#deps.events.event(containerEventObject(this.#pod, name), 'Warning', 'BackOff', text);
    }
  }

  #outcome(failures: ReadonlyMap<string, SyncError>, waits: readonly BackOffWait[], timeLeft: number | undefined): StepResult {
    const { random, sync, runtimeState } = this.#deps;
    if (this.#madeUserNamespace) sync.metrics.userNamespacedPodStarted(failures.size > 0);
    const resync = jitter(random, this.#deps.syncFrequencyMs, 0.5);
    const delays = waits.map((w) => w.remainingMs);
    if (timeLeft !== undefined) delays.push(timeLeft);
    for (const failure of failures.values()) {
      const { namespace, name } = this.#pod.metadata;
      if (isCriError(failure.cause, 'Unavailable')) runtimeState.suspect();
      if (!isBackOff(failure)) {
        const about = failure.container === undefined ? {} : { containerName: failure.container };
        sync.log.error(failure, 'Error syncing pod, skipping', {
          pod: `${namespace}/${name}`,
          podUID: this.#state.uid,
          reason: failure.code,
          ...about,
        });
      }
      delays.push(failure.retryAfterMs ?? jitter(random, ERROR_RETRY_MS, 0.5));
    }
    return { kind: 'stay', retryAfterMs: Math.min(resync, ...delays) };
  }

  #retry(ms: number): StepResult {
    return { kind: 'stay', retryAfterMs: jitter(this.#deps.random, ms, 0.5) };
  }
}

const noSlot = { whileSlow: <T>(work: Promise<T>) => work };

/** A container was made: its volumes are mounted. */
const isStarted = (observed: ObservedPod) => observed.containers.some((c) => c.state === 'running' || c.state === 'created');

const isTerminal = (status: PodStatus | undefined) => status?.phase === 'Failed' || status?.phase === 'Succeeded';
