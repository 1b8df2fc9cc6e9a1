import type { Container, Pod } from '../../api/types.ts';
import type { NumaMask } from './numa-mask.ts';

/** Where a resource could come from. Without an affinity: from anywhere, or (not preferred) from nowhere. */
export interface TopologyHint {
  affinity: NumaMask | undefined;
  /** As few NUMA nodes as such a request can have on this machine. */
  preferred: boolean;
}

/** By resource: its possible placings. Undefined: no preference; an empty list: there is no possible placing. */
export type ProviderHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/**
 * One that gives out resources which lie in NUMA nodes: CPUs, memory, devices. For each container of a pod under admission, the topology
 * manager asks all providers for hints, merges them, and has each provider allocate by the merged hint. Both must be idempotent: after a
 * restart of the agent every pod is admitted again.
 */
export interface HintProvider {
  readonly name: string;
  /** Undefined: this container asks nothing of the provider. */
  hints(pod: Pod, container: Container): ProviderHints | undefined;
  /** The same for all containers of the pod at once (scope `pod`). */
  podHints(pod: Pod): ProviderHints | undefined;
  /** Throws ResourceAdmissionError to refuse the pod with a reason of its own; any other error refuses it as unexpected. */
  allocate(pod: Pod, container: Container, hint: TopologyHint): void;
  /** Gives back all that the pod has. */
  release(podUid: string): void;
}

/** A pod that the node's resources cannot be given to. `reason` is the pod's (contract events.md §6). */
export class ResourceAdmissionError extends Error {
  readonly code = 'resources-refused';
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.name = 'ResourceAdmissionError';
    this.reason = reason;
  }
}
