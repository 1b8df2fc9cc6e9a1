import type { Pod, PodStatus } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Timeline } from '../observe/timeline.ts';
import { Publisher } from '../pods/publisher.ts';
import type { PodStartTimes } from '../pods/start-times.ts';
import type { Probes } from '../probes/probes.ts';
import type { StatusManager } from '../status/manager.ts';
import { PodStatusPublisher, type StatusPublisherDeps } from '../status/publisher.ts';
import type { ReasonCache } from '../status/reason-cache.ts';

export interface PublisherInput {
  ports: { clock: Clock; log: Logger; timeline: Timeline; runtimeName: string; recursiveReadOnly?(pod: Pod): boolean };
  hostIPs(): readonly string[];
  statuses: StatusManager;
  reasons: ReasonCache;
  probes: Probes;
  startTimes: PodStartTimes;
  resize: StatusPublisherDeps['resize'];
}

/** Where statuses of pods come from, and who hears of them. */
export function createPublisher({ ports, hostIPs, statuses, reasons, probes, startTimes, resize }: PublisherInput): Publisher {
  const { clock, log, timeline } = ports;
  const node = { hostIPs, runtimeName: () => ports.runtimeName, recursiveReadOnly: (pod: Pod) => ports.recursiveReadOnly?.(pod) ?? false };
  return new Publisher({
    inner: new PodStatusPublisher({ manager: statuses, reasons, probes, node, clock, resize }),
    manager: statuses,
    reasons,
    published: (uid, status: PodStatus) => {
      probes.published(uid, status);
      startTimes.published(uid, status);
    },
    becameReady: ({ metadata }: Pod) => {
      timeline.note(metadata.uid, 'ready');
      log.debug(2, 'Pod is ready', { pod: `${metadata.namespace}/${metadata.name}` });
    },
  });
}
