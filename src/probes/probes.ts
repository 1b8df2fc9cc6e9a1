import { type PodUid, podUid } from '../api/brands.ts';
import { bareContainerId } from '../api/container-id.ts';
import { isSidecar } from '../api/restart.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { ProbeMetrics } from './metrics.ts';
import { initialResult } from './rules.ts';
import type { ProbeRunner } from './runner.ts';
import type { Schedule } from './schedule.ts';
import { type ProbeChange, type ProbeResult, type ProbeType, probeOf } from './types.ts';
import { type ProbeSink, ProbeWorker, type ProbeWorkerDeps } from './worker.ts';

export interface ProbesDeps {
  runner: ProbeRunner;
  schedule: Schedule;
  clock: Clock;
  random: Random;
  log: Logger;
  events: EventRecorder;
  metrics: ProbeMetrics;
  /** What the API shows of a pod. */
  status(uid: PodUid): PodStatus | undefined;
  /** Another result holds for a container. Must not throw. */
  changed(change: ProbeChange): void;
}

/** Containers that ran this long before the agent started keep what they were over its restart. */
const RESTART_GRACE_MS = 10_000;
const types: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/** All probes of all pods (contract: pod-lifecycle.md §8): a worker a probe, and what they found. */
export class Probes {
  readonly #deps: ProbesDeps;
  readonly #workerDeps: ProbeWorkerDeps;
  /** By pod, then by container and type. */
  readonly #workers = new Map<PodUid, Map<string, ProbeWorker>>();
  /** By container id. */
  readonly #results: { [T in ProbeType]: Map<string, ProbeResult> } = { startup: new Map(), readiness: new Map(), liveness: new Map() };
  readonly #sink: ProbeSink = {
    set: (worker, statusId, result) => this.#set(worker, statusId, result),
    drop: (worker, statusId) => this.#results[worker.type].delete(bareContainerId(statusId)),
    ended: (worker) => this.#ended(worker),
  };

  constructor(deps: ProbesDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#workerDeps = { ...deps, startedAt: clock.monotonic(), keepBefore: clock.now() - RESTART_GRACE_MS };
  }

  /** Makes the workers that the pod's containers and sidecars lack. May be called again at any time. */
  add(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)]) {
      for (const type of types) {
        const spec = probeOf(container, type);
        if (spec === undefined || spec === null) continue;
        const workers = this.#workers.get(uid) ?? new Map<string, ProbeWorker>();
        this.#workers.set(uid, workers);
        const key = keyOf(container.name, type);
        if (workers.has(key)) continue;
        const worker = new ProbeWorker(this.#workerDeps, this.#sink, uid, pod, container, type, spec);
        workers.set(key, worker);
        worker.start();
      }
    }
  }

  /** For a pod that is on its way out. Sidecars are probed on: they serve the others until these have ended. */
  stopLivenessAndStartup(pod: Pod): void {
    const workers = this.#workers.get(podUid(pod.metadata.uid));
    for (const { name } of pod.spec.containers) {
      for (const type of ['liveness', 'startup'] as const) workers?.get(keyOf(name, type))?.stop();
    }
  }

  /** Ends all probes of a pod. */
  remove(pod: Pod): void {
    for (const worker of [...(this.#workers.get(podUid(pod.metadata.uid))?.values() ?? [])]) worker.stop();
  }

  /** Ends all probes. */
  close(): void {
    for (const workers of [...this.#workers.values()]) for (const worker of [...workers.values()]) worker.stop();
  }

  /** A status was computed: a container that runs and is not ready is probed at once. */
  published(uid: PodUid, status: PodStatus): void {
    const workers = this.#workers.get(uid);
    if (workers === undefined) return;
    for (const s of [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]) {
      if (s.state?.running === undefined || s.started !== true) continue;
      if (this.#results.readiness.get(bareContainerId(s.containerID ?? '')) === 'Success') continue;
      workers.get(keyOf(s.name, 'readiness'))?.poke();
    }
  }

  /** `containerId` without its `runtime://`. */
  result(containerId: string, kind: 'liveness' | 'startup'): ProbeResult {
    return this.#results[kind].get(containerId) ?? 'Unknown';
  }

  readiness(_name: string, containerId: string): boolean | undefined {
    const result = this.#results.readiness.get(containerId);
    return result === undefined ? undefined : result === 'Success';
  }

  started(_name: string, containerId: string): boolean | undefined {
    const result = this.#results.startup.get(containerId);
    return result === undefined ? undefined : result === 'Success';
  }

  #set(worker: ProbeWorker, statusId: string, result: ProbeResult): void {
    const { type, uid, container } = worker;
    const containerId = bareContainerId(statusId);
    const results = this.#results[type];
    const before = results.get(containerId);
    if (before === result) return;
    results.set(containerId, result);
    const isInitial = before === undefined && result === initialResult[type];
    this.#deps.changed({ uid, containerId, statusId, container: container.name, type, result, isInitial });
  }

  #ended(worker: ProbeWorker): void {
    const workers = this.#workers.get(worker.uid);
    const key = keyOf(worker.container.name, worker.type);
    if (workers?.get(key) === worker) workers.delete(key);
    if (workers?.size === 0) this.#workers.delete(worker.uid);
  }
}

const keyOf = (container: string, type: ProbeType) => `${type} ${container}`;
