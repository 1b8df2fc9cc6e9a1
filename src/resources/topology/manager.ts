import type { Container, Pod } from '../../api/types.ts';
import { managedContainers } from '../cpu/guaranteed.ts';
import type { ManagerMetrics } from '../manager-metrics.ts';
import { type HintProvider, ResourceAdmissionError, type TopologyHint } from './hint.ts';
import { mergeHints, type NumaInfo, type TopologyPolicy } from './merge.ts';

export type TopologyScope = 'container' | 'pod';

/** Why the node's resources cannot be given to a pod (contract events.md §6). */
export interface ResourceRejection {
  reason: string;
  message: string;
}

export interface TopologyManagerDeps {
  policy: TopologyPolicy;
  scope: TopologyScope;
  info: NumaInfo;
  /** In the order in which they are asked, and in which they allocate. */
  providers: readonly HintProvider[];
  metrics: ManagerMetrics;
  /** Monotonic, milliseconds. */
  now(): number;
}

const Anywhere: TopologyHint = { affinity: undefined, preferred: false };

/** Brings CPUs, memory and devices of a container, or of a pod, together on few NUMA nodes. Source: contract node.md §6, KEP-693. */
export class TopologyManager {
  readonly #deps: TopologyManagerDeps;

  constructor(deps: TopologyManagerDeps) {
    this.#deps = deps;
    if (deps.policy === 'none') return;
    for (const scope of ['container', 'pod'] as const) deps.metrics.prepare(scope, 'numa_node', true);
  }

  /** Gives the pod's containers their resources; undefined when all have them. What a refused pod got is taken back. */
  admit(pod: Pod): ResourceRejection | undefined {
    const { metrics, now, providers } = this.#deps;
    const began = now();
    let rejection: ResourceRejection | undefined;
    try {
      this.#place(pod);
    } catch (err) {
      rejection = rejectionOf(err);
      for (const provider of providers) provider.release(pod.metadata.uid);
    }
    metrics.admitted(now() - began, rejection !== undefined && this.#deps.policy !== 'none');
    return rejection;
  }

  #place(pod: Pod): void {
    const { policy, scope, info, providers } = this.#deps;
    const merge = (hints: (provider: HintProvider) => ReturnType<HintProvider['hints']>) =>
      this.#admitted(mergeHints(policy, info, providers.map(hints)));
    const whole = policy !== 'none' && scope === 'pod' ? merge((provider) => provider.podHints(pod)) : undefined;
    for (const container of managedContainers(pod)) {
      const hint = policy === 'none' ? Anywhere : (whole ?? merge((provider) => provider.hints(pod, container)));
      this.#allocate(pod, container, hint);
      if (scope === 'container') this.#count(false);
    }
    if (scope === 'pod') this.#count(false);
  }

  #admitted({ hint, admit }: ReturnType<typeof mergeHints>): TopologyHint {
    if (admit) return hint;
    this.#count(true);
    throw new ResourceAdmissionError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality');
  }

  #allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    for (const provider of this.#deps.providers) provider.allocate(pod, container, hint);
  }

  /** Only one policy vouches for the alignment. */
  #count(failed: boolean): void {
    const { policy, scope, metrics } = this.#deps;
    if (policy === 'single-numa-node') metrics.aligned(scope, 'numa_node', failed);
  }
}

function rejectionOf(err: unknown): ResourceRejection {
  if (err instanceof ResourceAdmissionError) return { reason: err.reason, message: err.message };
  const why = err instanceof Error ? err.message : String(err);
  return { reason: 'UnexpectedAdmissionError', message: `Allocate failed due to ${why}, which is unexpected` };
}
