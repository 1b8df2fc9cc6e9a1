import { ContainerCollector } from '../containers/container-collector.ts';
import { type ContainerGcPolicy, defaultContainerGcPolicy } from '../containers/container-gc.ts';
import { ContainerGcService } from '../containers/container-gc-service.ts';
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
  isPodDeletedOrUnknown(uid: string): boolean;
}

/** Dead containers: who removes one, and who looks for them. */
export function createGarbage({ ports, options, node, sourcesReady, isPodDeletedOrUnknown }: GarbageInput) {
  const { clock, files, log, events, runtime } = ports;
  const { podLogsDir, containerLogsDir } = options;
  const remover = new ContainerRemover({ runtime, files, podLogsDir, containerLogsDir });
  const collector = new ContainerCollector({
    runtime,
    files,
    remover,
    clock,
    log,
    policy: options.containerGc ?? defaultContainerGcPolicy,
    podLogsDir,
    containerLogsDir,
    pods: { sourcesReady, isPodDeletedOrUnknown },
  });
  return { remover, collector, service: new ContainerGcService({ collector, clock, events, node, log }) };
}
