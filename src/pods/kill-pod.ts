import { podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { PodLifecycle, PodUpdate, StatusOverride } from './lifecycle.ts';

export interface PodKillerDeps {
  clock: Clock;
  events: EventRecorder;
  lanes: {
    submit(uid: ReturnType<typeof podUid>, update: PodUpdate): boolean;
    state(uid: ReturnType<typeof podUid>): PodLifecycle | undefined;
  };
}

export interface KillOptions {
  /** Seconds; undefined: the pod's own grace. */
  graceSeconds?: number | undefined;
  /** What the API is to show of the pod. */
  status: StatusOverride;
}

/** Contract pod-lifecycle.md §4, killPodNow. */
const LeastWaitMs = 10_000;
const LookMs = 100;
const DefaultGraceSeconds = 30;

/** Stops running pods for a reason of the node's own (eviction, preemption) and waits until they have stopped. */
export class PodKiller {
  readonly #deps: PodKillerDeps;

  constructor(deps: PodKillerDeps) {
    this.#deps = deps;
  }

  /** Resolves when no container of the pod runs any more. Rejects when that takes longer than the grace and half of it, at least 10 s. */
  async kill(pod: Pod, { graceSeconds, status }: KillOptions, signal?: AbortSignal): Promise<void> {
    const { clock, lanes, events } = this.#deps;
    const uid = podUid(pod.metadata.uid);
    const grace = graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DefaultGraceSeconds;
    const end = clock.monotonic() + Math.max(LeastWaitMs, grace * 1_500);
    const kill = { cause: 'requested' as const, status, ...(graceSeconds === undefined ? {} : { graceSeconds }) };
    if (!lanes.submit(uid, { kills: [kill] })) return;
    while (!hasStopped(lanes.state(uid))) {
      if (clock.monotonic() >= end) {
        events.event(
          podEventObject(pod),
          'Warning',
          'ExceededGracePeriod',
          'Container runtime did not kill the pod within specified grace period.',
        );
        throw new Error('timeout waiting to kill pod');
      }
      await clock.sleep(LookMs, signal);
    }
  }
}

const hasStopped = (state: PodLifecycle | undefined) => state === undefined || state.phase === 'terminated' || state.phase === 'finished';
