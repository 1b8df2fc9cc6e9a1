import type { Preemption } from '../admission/chain.ts';
import type { Clock } from '../host/clock.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { PodKiller, type PodKillerDeps } from '../pods/kill-pod.ts';

export interface PreemptionDeps {
  clock: Clock;
  log: Logger;
  events: EventRecorder;
  lanes: PodKillerDeps['lanes'];
  /** kubelet_preemptions. */
  preempted(resource: string): void;
}

const Message = 'Preempted in order to admit critical pod';
const Override = {
  phase: 'Failed' as const,
  reason: 'Preempting',
  message: Message,
  disruption: { reason: 'TerminationByKubelet', message: 'Pod was preempted by Kubelet to accommodate a critical pod.' },
};

/**
 * Stops pods so that a critical one can run, one after another, each with its own grace. One that cannot be stopped is
 * logged; the critical pod is not held up for it. Source: contract pod-lifecycle.md §19.
 */
export function preemption({ clock, log, events, lanes, preempted }: PreemptionDeps): (preemption: Preemption) => Promise<void> {
  const killer = new PodKiller({ clock, events, lanes });
  return async ({ preempt, resource }) => {
    for (const pod of preempt) {
      const { namespace, name, uid } = pod.metadata;
      const about = { pod: `${namespace}/${name}`, podUID: uid };
      events.event(podEventObject(pod), 'Warning', 'Preempting', Message);
      log.info('Preempting pod to free up resources', { ...about, resource });
      try {
        await killer.kill(pod, { status: Override });
        preempted(resource);
        log.info('Pod evicted successfully', about);
      } catch (err) {
        log.error(err, 'Failed to evict pod', about);
      }
    }
  };
}
