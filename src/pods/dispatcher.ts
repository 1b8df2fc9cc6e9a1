import type { PodUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { Lane, type LaneStep } from './lane.ts';
import { newLifecycle, type PodLifecycle, type PodUpdate } from './lifecycle.ts';

export interface DispatcherDeps {
  clock: Clock;
  log: Logger;
  step: LaneStep;
  /** A pod moved to another phase, or to a newer form. */
  moved?(state: PodLifecycle): void;
}

/**
 * One serial lane per pod UID; lanes run side by side. Static pods of one full name pass one at a time: the next waits
 * until the one before it is finished.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #lanes = new Map<PodUid, Lane>();
  /** Who may work under a full name, in order of arrival; the first one does. */
  readonly #names = new Map<string, PodUid[]>();
  #closed = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Tells a lane; one is made when `update.pod` (or, for an orphan, `orphan`) is given. False: nobody has that pod. */
  submit(uid: PodUid, update: PodUpdate, orphan?: Pod): boolean {
    if (this.#closed) return false;
    let lane = this.#lanes.get(uid);
    if (lane === undefined) {
      const pod = update.pod ?? orphan;
      if (pod === undefined) return false;
      lane = new Lane(
        {
          clock: this.#deps.clock,
          log: this.#deps.log,
          step: this.#deps.step,
          moved: (state) => this.#moved(state),
          mayBegin: (state) => this.#mayBegin(state),
        },
        newLifecycle(uid, pod, update.pod === undefined),
      );
      this.#lanes.set(uid, lane);
      this.#enqueue(lane.state);
    }
    lane.submit(update);
    return true;
  }

  state(uid: PodUid): PodLifecycle | undefined {
    return this.#lanes.get(uid)?.state;
  }

  states(): PodLifecycle[] {
    return [...this.#lanes.values()].map((l) => l.state);
  }

  /** Every lane looks again. */
  wakeAll(): void {
    for (const lane of this.#lanes.values()) if (lane.state.phase !== 'finished') lane.submit({ wake: true });
  }

  /** Drops a lane that is finished. False when it is not there or not finished. */
  remove(uid: PodUid): boolean {
    const lane = this.#lanes.get(uid);
    if (lane === undefined || lane.state.phase !== 'finished' || lane.busy) return false;
    this.#lanes.delete(uid);
    this.#leave(lane.state);
    return true;
  }

  /** Ends all lanes without touching a container. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#lanes.values()].map((l) => l.close()));
  }

  #moved(state: PodLifecycle): void {
    if (state.phase === 'finished') this.#leave(state);
    else this.#enqueue(state);
    this.#deps.moved?.(state);
  }

  #enqueue(state: PodLifecycle): void {
    const name = fullName(state.pod);
    const queue = this.#names.get(name) ?? [];
    if (!queue.includes(state.uid)) this.#names.set(name, [...queue, state.uid]);
  }

  #leave(state: PodLifecycle): void {
    for (const [name, queue] of this.#names) {
      if (!queue.includes(state.uid)) continue;
      const rest = queue.filter((uid) => uid !== state.uid);
      if (rest.length === 0) this.#names.delete(name);
      else this.#names.set(name, rest);
      const next = rest[0];
      if (next !== undefined && queue[0] === state.uid) this.#lanes.get(next)?.kick();
    }
  }

  /** The API server allows a name once at a time anyway: only pods from elsewhere have to wait for each other. */
  #mayBegin(state: PodLifecycle): boolean {
    if (state.pod.metadata.annotations?.['kubernetes.io/config.source'] === 'api') return true;
    return (this.#names.get(fullName(state.pod))?.[0] ?? state.uid) === state.uid;
  }
}

const fullName = (pod: Pod) => `${pod.metadata.name}_${pod.metadata.namespace}`;
