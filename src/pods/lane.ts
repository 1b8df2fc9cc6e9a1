import type { PodUid } from '../api/brands.ts';
import type { Clock, Timer } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { applyStep, applyUpdate, mergeUpdates, mustAbort, type PodLifecycle, type PodUpdate, type StepResult } from './lifecycle.ts';

/** Does the work of one phase of one pod. An abort of `signal` ends it early: the lane then goes on with newer facts. */
export type LaneStep = (state: PodLifecycle, signal: AbortSignal) => Promise<StepResult>;

export interface LaneDeps {
  clock: Clock;
  log: Logger;
  step: LaneStep;
  /** Called after each move to another phase. */
  moved(state: PodLifecycle): void;
  /** May the lane begin? False keeps it waiting for `kick` (another pod of the same full name is not finished). */
  mayBegin(state: PodLifecycle): boolean;
}

/**
 * INVARIANTS
 * 1. At most one step of a lane runs at any time; all work on a pod happens in its lane.
 * 2. At most one update is pending; a later one merges into it.
 * 3. A step under way is aborted only when the pod begins to terminate, its grace gets shorter, or the agent stops.
 * 4. No update is lost: what arrives during a step is applied before the next one.
 */
export class Lane {
  readonly uid: PodUid;
  readonly #deps: LaneDeps;
  #state: PodLifecycle;
  #pending: PodUpdate | undefined;
  #step: { abort: AbortController; done: Promise<void> } | undefined;
  #timer: Timer | undefined;
  #begun = false;
  #closed = false;

  constructor(deps: LaneDeps, state: PodLifecycle) {
    this.#deps = deps;
    this.#state = state;
    this.uid = state.uid;
  }

  get state(): PodLifecycle {
    return this.#state;
  }

  /** True while a step runs. */
  get busy(): boolean {
    return this.#step !== undefined;
  }

  submit(update: PodUpdate): void {
    if (this.#closed) return;
    this.#pending = mergeUpdates(this.#pending, update);
    if (this.#step !== undefined && mustAbort(this.#state, applyUpdate(this.#state, this.#pending))) {
      this.#step.abort.abort(new LaneAborted('the pod is to be stopped, or faster'));
    }
    this.kick();
  }

  /** Runs the next step unless one runs already, or the lane may not begin yet. */
  kick(): void {
    if (this.#closed || this.#step !== undefined) return;
    if (this.#pending !== undefined) {
      const update = this.#pending;
      this.#pending = undefined;
      this.#move(applyUpdate(this.#state, update));
    }
    if (this.#state.phase === 'finished') return;
    if (!this.#begun && !this.#deps.mayBegin(this.#state)) return;
    this.#begun = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    const abort = new AbortController();
    this.#step = { abort, done: this.#run(abort.signal) };
  }

  /** Ends the lane without touching the pod; resolves when its step is over. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#step?.abort.abort(new LaneAborted('the agent stops'));
    await this.#step?.done;
  }

  async #run(signal: AbortSignal): Promise<void> {
    await Promise.resolve();
    let result: StepResult;
    try {
      result = await this.#deps.step(this.#state, signal);
    } catch (err) {
      if (!signal.aborted) throw err;
      result = { kind: 'stay', retryAfterMs: 0 };
    } finally {
      this.#step = undefined;
    }
    if (this.#closed) return;
    const before = this.#state.phase;
    // A step that was aborted may have come to its end all the same: newer facts decide, the phase is not left.
    if (!(signal.aborted && result.kind === 'advance' && before === 'sync')) this.#move(applyStep(this.#state, result));
    const delay = this.#state.phase !== before || this.#pending !== undefined || signal.aborted ? 0 : retryOf(result);
    if (delay === 0) this.kick();
    else if (delay !== undefined) this.#timer = this.#deps.clock.after(delay, () => this.kick());
  }

  #move(next: PodLifecycle): void {
    const moved = next.phase !== this.#state.phase || next.pod !== this.#state.pod;
    if (next.phase === 'sync' && this.#state.phase !== 'sync') this.#begun = false;
    this.#state = next;
    if (moved) this.#deps.moved(next);
  }
}

const retryOf = (result: StepResult) => (result.kind === 'stay' ? result.retryAfterMs : 0);

export class LaneAborted extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LaneAborted';
  }
}
