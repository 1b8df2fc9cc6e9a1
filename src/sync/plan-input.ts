import type { SandboxId } from '../api/brands.ts';
import type { Container, Pod } from '../api/types.ts';
import type { ObservedContainer, ObservedPod } from '../pleg/types.ts';
import type { BackOffWait } from './actions.ts';
import type { ResizeInput } from './plan-resize.ts';

export type ProbeKind = 'liveness' | 'startup';
export type ProbeResult = 'Success' | 'Failure' | 'Unknown';

/** Everything that the plan of a pod depends on. Plain values and pure functions: no clock, no I/O. */
export interface PlanInput {
  pod: Pod;
  observed: ObservedPod;
  /** Sandboxes on which StopPodSandbox has succeeded since the lane began to replace them. */
  stoppedSandboxes: ReadonlySet<SandboxId>;
  /** Containers that were killed in order to start again whatever their policy says. */
  mustStart: ReadonlySet<string>;
  /** A `RestartAllContainers` rule is at work: all containers are removed, then started anew. */
  restartingAll: boolean;
  /** Back-off of a container whose newest instance has exited; undefined when it may start now. */
  backOff(container: Container, exited: ObservedContainer): Pick<BackOffWait, 'remainingMs' | 'delayMs'> | undefined;
  probe(id: string, kind: ProbeKind): ProbeResult;
  /** Absent where nothing is resized: the gate is off, or this sync has done it. */
  resize?: ResizeInput | undefined;
  /** The hash that a running container must carry. */
  hash(container: Container): string;
  /** Whether a container that is not running should start again (contract: pod-lifecycle §5, restart decision). */
  shouldRestart(container: Container, statuses: readonly ObservedContainer[]): boolean;
}

/** The instances of one container, newest first. */
export function statusesOf(observed: ObservedPod, name: string): ObservedContainer[] {
  return observed.containers.filter((c) => c.name === name);
}
