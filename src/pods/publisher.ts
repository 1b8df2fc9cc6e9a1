import { type PodUid, podUid } from '../api/brands.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { ObservedPod } from '../pleg/types.ts';
import { computePodStatus } from '../status/compute.ts';
import type { StatusManager } from '../status/manager.ts';
import type { ProbeResults } from '../status/readiness.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import { isoSeconds } from '../status/times.ts';
import type { StatusOverride } from './lifecycle.ts';
import type { StatusPublisher } from './ports.ts';

export interface PublisherDeps {
  clock: Clock;
  statuses: StatusManager;
  reasons: ReasonCache;
  probes: ProbeResults;
  /** The node's addresses, the preferred family first. */
  hostIPs(): readonly string[];
  /** Such as `containerd`. */
  runtimeName: string;
  /** A pod became Ready, for the first time in this process. */
  becameReady(pod: Pod): void;
}

/** Joins what was observed, what failed and what the probes say into the status of a pod, and stores it. */
export class Publisher implements StatusPublisher {
  readonly #deps: PublisherDeps;
  readonly #ready = new Set<PodUid>();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  publish(pod: Pod, observed: ObservedPod, opts: { terminal: boolean; override?: StatusOverride | undefined }): PodStatus {
    const { clock, statuses, reasons, probes, hostIPs, runtimeName } = this.#deps;
    const uid = podUid(pod.metadata.uid);
    const status = computePodStatus({
      pod,
      observed,
      previous: statuses.get(uid),
      isTerminal: opts.terminal,
      nowIso: isoSeconds(clock.now()),
      reasons: reasons.get(uid),
      hostIPs: hostIPs(),
      runtimeName,
      readiness: (name, id) => probes.readiness(name, id),
      started: (name, id) => probes.started(name, id),
      ...(opts.override === undefined ? {} : { override: opts.override }),
    });
    statuses.set(pod, status);
    if (!this.#ready.has(uid) && status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')) {
      this.#ready.add(uid);
      this.#deps.becameReady(pod);
    }
    return status;
  }

  noteFailures(uid: PodUid, failures: ReadonlyMap<string, { reason: string; message: string }>): void {
    const { reasons } = this.#deps;
    for (const name of reasons.get(uid).keys()) if (!failures.has(name)) reasons.update(uid, name, undefined);
    for (const [name, failure] of failures) reasons.update(uid, name, failure);
  }

  terminated(pod: Pod): void {
    this.#deps.statuses.terminate(pod);
  }

  forget(uid: PodUid): void {
    this.#deps.statuses.remove(uid);
    this.#deps.reasons.remove(uid);
    this.#ready.delete(uid);
  }
}
