import type { PodUid } from '../api/brands.ts';
import { podUid } from '../api/brands.ts';
import type { Pod, PodCondition, PodStatus, ResourceRequirements } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { PodCgroupValues } from '../resources/pod-cgroup-values.ts';
import { computePodStatus, type StatusOverride } from './compute.ts';
import type { StartFailure } from './container-statuses.ts';
import type { StatusManager } from './manager.ts';
import type { ProbeResults } from './readiness.ts';
import type { ReasonCache } from './reason-cache.ts';
import { isoSeconds } from './times.ts';

/** What the statuses of this node's pods have in common. */
export interface NodeFacts {
  /** The preferred family first; empty while unknown. */
  hostIPs(): readonly string[];
  /** Such as `containerd`. */
  runtimeName(): string;
  /** Whether the pod's runtime handler can mount recursively read-only. */
  recursiveReadOnly(pod: Pod): boolean;
}

/** How in-place resizes show in the status. */
export interface ResizeStatus {
  conditions(uid: string): readonly PodCondition[];
  /** CPU and memory in force for a container. */
  actuated(uid: string, container: string): ResourceRequirements | undefined;
  /** Undefined where resources of the pod as a whole are not shown. */
  podLevel(uid: string): { cgroup: PodCgroupValues | undefined } | undefined;
  /** The pod will not run again. */
  ended(uid: string): void;
}

export interface StatusPublisherDeps {
  manager: StatusManager;
  reasons: ReasonCache;
  probes: ProbeResults;
  node: NodeFacts;
  clock: Pick<Clock, 'now'>;
  /** Absent where nothing is resized. */
  resize?: ResizeStatus | undefined;
}

/** Containers that ran this long before the agent started keep their readiness over its restart (contract: pod-lifecycle.md §8). */
const restartGraceMs = 10_000;

/** Computes the status of a pod from what was just observed and stores it: the one place where both meet. */
export class PodStatusPublisher {
  readonly #deps: StatusPublisherDeps;
  readonly #keepReadyBefore: string;

  constructor(deps: StatusPublisherDeps) {
    this.#deps = deps;
    this.#keepReadyBefore = isoSeconds(deps.clock.now() - restartGraceMs);
  }

  /** `terminal`: no container will run again. Returns the new status, also when the store refused it. */
  publish(pod: Pod, observed: ObservedPod | undefined, opts: { terminal: boolean; override?: StatusOverride | undefined }): PodStatus {
    const { manager, reasons, probes, node, clock, resize } = this.#deps;
    const uid = podUid(pod.metadata.uid);
    if (opts.terminal) resize?.ended(uid);
    const podLevel = resize?.podLevel(uid);
    const status = computePodStatus({
      pod,
      observed,
      previous: manager.get(uid),
      isTerminal: opts.terminal,
      nowIso: isoSeconds(clock.now()),
      reasons: reasons.get(uid),
      hostIPs: node.hostIPs(),
      runtimeName: node.runtimeName(),
      recursiveReadOnly: node.recursiveReadOnly(pod),
      keepReadyBefore: this.#keepReadyBefore,
      readiness: (name, id) => probes.readiness(name, id),
      started: (name, id) => probes.started(name, id),
      ...(resize === undefined ? {} : { resizeConditions: resize.conditions(uid), actuated: (name: string) => resize.actuated(uid, name) }),
      ...(podLevel === undefined ? {} : { podLevel }),
      ...(opts.override === undefined ? {} : { override: opts.override }),
    });
    manager.set(pod, status);
    return status;
  }

  /** Why containers do not start; replaces what was noted for the pod. */
  noteFailures(uid: PodUid, failures: ReadonlyMap<string, StartFailure>): void {
    this.#deps.reasons.replace(uid, failures);
  }

  /** Everything of the pod is gone from the node. */
  terminated(pod: Pod): void {
    this.#deps.reasons.remove(podUid(pod.metadata.uid));
    this.#deps.manager.terminate(pod);
  }
}
