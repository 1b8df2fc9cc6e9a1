import type { PodUid } from '../api/brands.ts';
import { ContainerCollector } from '../containers/container-collector.ts';
import { type ContainerGcPolicy, defaultContainerGcPolicy } from '../containers/container-gc.ts';
import { ContainerGcService } from '../containers/container-gc-service.ts';
import { DeadContainers } from '../containers/dead-containers.ts';
import { ContainerRemover } from '../containers/remove-container.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';

export interface GarbageInput {
  ports: { clock: Clock; files: Files; log: Logger; events: EventRecorder; runtime: CriRuntime };
  options: { podLogsDir: string; containerLogsDir: string; containerGc?: ContainerGcPolicy };
  node: EventObject;
  sourcesReady(): boolean;
  /** Still wanted, or on its way out. */
  isKnown(uid: PodUid): boolean;
  /** It was evicted and is over: only its object is left. */
  isEvicted(uid: PodUid): boolean;
}

/** Dead containers: who removes one, and who looks for them. */
export function createGarbage({ ports, options, node, sourcesReady, isKnown, isEvicted }: GarbageInput) {
  const { clock, files, log, events, runtime } = ports;
  const { podLogsDir, containerLogsDir } = options;
  const policy = options.containerGc ?? defaultContainerGcPolicy;
  const remover = new ContainerRemover({ runtime, files, podLogsDir, containerLogsDir });
  const collector = new ContainerCollector({
    runtime,
    files,
    remover,
    clock,
    log,
    policy,
    podLogsDir,
    containerLogsDir,
    pods: { sourcesReady, isPodDeletedOrUnknown: (uid) => !isKnown(uid) || isEvicted(uid) },
  });
  const deadContainers = new DeadContainers({ remover, maxPerContainer: policy.maxPerContainer, log });
  return { remover, collector, deadContainers, service: new ContainerGcService({ collector, clock, events, node, log }) };
}
