import type { PodUid } from '../api/brands.ts';
import type { Container, Pod, Probe } from '../api/types.ts';

export type ProbeType = 'startup' | 'readiness' | 'liveness';
export type ProbeResult = 'Success' | 'Failure' | 'Unknown';

/** Who is probed. */
export interface ProbeTarget {
  pod: Pod;
  container: Container;
  type: ProbeType;
  /** Without its `runtime://`. */
  containerId: string;
  /** The pod's address at this moment; empty while there is none. */
  podIp: string;
}

/** A result that now holds for a container. */
export interface ProbeChange {
  uid: PodUid;
  /** Without its `runtime://`. */
  containerId: string;
  /** As the status has it, with its `runtime://`. */
  statusId: string;
  container: string;
  type: ProbeType;
  result: ProbeResult;
  /** The container is new to the worker: nothing was probed yet. */
  isInitial: boolean;
}

export function probeOf(container: Container, type: ProbeType): Probe | undefined {
  if (type === 'startup') return container.startupProbe;
  return type === 'readiness' ? container.readinessProbe : container.livenessProbe;
}

/** As events and metrics name it. */
export function typeLabel(type: ProbeType): 'Startup' | 'Readiness' | 'Liveness' {
  if (type === 'startup') return 'Startup';
  return type === 'readiness' ? 'Readiness' : 'Liveness';
}
