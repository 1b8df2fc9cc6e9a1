import { posix } from 'node:path';
import { AllocationManager } from '../admission/allocation-manager.ts';
import type { AdmissionVerdict, Preemption } from '../admission/chain.ts';
import { ResizeConditions } from '../admission/resize-conditions.ts';
import { infeasibleResize, type ResizeNode } from '../admission/resize-feasibility.ts';
import { noResizeMetrics, type ResizeMetrics } from '../admission/resize-metrics.ts';
import { ResizeRetry } from '../admission/resize-retry.ts';
import { ResourceState } from '../admission/resource-state.ts';
import { resourceInfoOf } from '../api/allocation.ts';
import type { PodUid } from '../api/brands.ts';
import { podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import type { CriRuntime, CriSandboxResize } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Service } from '../observe/service.ts';
import type { PodResizes } from '../pods/ports.ts';
import type { PodCgroupResize } from '../resources/pod-cgroup-resize.ts';
import type { ResizeStatus } from '../status/publisher.ts';
import { isoSeconds } from '../status/times.ts';
import type { SpecBuilder } from '../sync/context.ts';
import { PodResizer } from '../sync/resize-pod.ts';

/** What the machine and the settings say of in-place resizes. */
export interface ResizePort {
  node: ResizeNode;
  /** Absent where pods have no control groups of their own. */
  cgroups?: PodCgroupResize;
  /** Bytes that a container uses. */
  containerMemoryUsage?(id: string): Promise<number | undefined>;
  metrics?: ResizeMetrics;
}

export interface ResizesInput {
  ports: {
    clock: Clock;
    files: Files;
    log: Logger;
    events: EventRecorder;
    runtime: CriRuntime & Partial<CriSandboxResize>;
    specs: SpecBuilder;
    resize?: ResizePort;
    admit(pod: Pod, others: readonly Pod[]): AdmissionVerdict;
  };
  rootDir: string;
  store: { get(uid: PodUid): Pod | undefined; readonly ready: boolean };
  /** The pods that count against the node. */
  active(): readonly Pod[];
  /** A pod's lane is to look at this form of it. */
  submit(uid: PodUid, update: { pod: Pod }): void;
  /** Stops pods to make room for a critical one. */
  preempt(preemption: Preemption): Promise<void>;
}

/** Everything of in-place resize (contract: pod-lifecycle.md §20), for the rooms that take part in it. */
export interface Resizes {
  readonly manager: AllocationManager;
  readonly resizer: PodResizer;
  readonly lane: PodResizes;
  readonly status: ResizeStatus;
  /** Reads the checkpoints, then retries what waits: starts before anything that admits pods. */
  readonly service: Service;
  forget(uid: PodUid): void;
  /** Drops what is on record of pods that nobody knows. */
  retain(isKnown: (uid: string) => boolean): void;
}

const everything: ResizeNode = {
  gates: { podLevel: true, initContainers: true },
  fixedCpus: false,
  fixedMemory: false,
  preempts: true,
  maySwap: () => false,
};

export function createResizes({ ports, rootDir, store, active, submit, preempt }: ResizesInput): Resizes {
  const { clock, files, log, events, runtime, specs } = ports;
  const { node, cgroups, containerMemoryUsage, metrics = noResizeMetrics } = ports.resize ?? { node: everything };
  const { gates } = node;
  // What is in force can be told from what was allocated, as long as that is no newer on disk.
  const actuated = new ResourceState({ files, clock, log, path: posix.join(rootDir, 'actuated_pods_state'), gatherMs: 1_000 });
  const path = posix.join(rootDir, 'allocated_pods_state');
  const allocated = new ResourceState({ files, clock, log, path, gatherMs: 50, after: actuated });
  const conditions = new ResizeConditions({ now: () => clock.now(), nowIso: () => isoSeconds(clock.now()), metrics });
  const manager = new AllocationManager({
    gates,
    allocated,
    actuated,
    conditions,
    metrics,
    log,
    admit: ports.admit,
    preempt: node.preempts ? preempt : undefined,
    infeasible: (pod, has) => infeasibleResize(pod, has, node),
    active,
    pod: (uid) => store.get(podUid(uid)),
    sourcesReady: () => store.ready,
    sync: (pod) => submit(podUid(pod.metadata.uid), { pod }),
    event: (pod, type, reason, message) => events.event(podEventObject(pod), type, reason, message),
  });
  const resizer = new PodResizer({
    runtime,
    cgroups: cgroups ?? { wanted: () => ({}), current: async () => undefined, change: async () => {}, memoryUsage: async () => undefined },
    containerResources: (pod, container) => specs.containerResources(pod, container),
    sandboxOverhead: (pod) => specs.sandboxOverhead(pod),
    containerMemoryUsage: (id) => containerMemoryUsage?.(id) ?? Promise.resolve(0),
    actuated,
    podLevel: gates.podLevel,
    saved: { allocated: () => allocated.saved(), actuated: () => actuated.saved() },
    clock,
    log,
    measured: (ms, success) => metrics.actuated(ms, success),
  });
  // Pods whose resize failed, or was under way when the agent ended: the record alone does not tell how far it came.
  const due = new Set<string>();
  const looked = new Set<string>();
  const lane: PodResizes = {
    input: (pod) => {
      const { uid } = pod.metadata;
      // Taken over from an agent that kept no record: what it allocated is what runs.
      if (!actuated.has(uid)) actuated.set(uid, resourceInfoOf(pod, gates));
      if (!looked.has(uid) && conditions.isInProgress(uid)) due.add(uid);
      looked.add(uid);
      return { gates, actuated: actuated.get(uid), due: due.has(uid) };
    },
    observed: async (pod, observed) => {
      if (gates.podLevel && observed.sandboxes.length > 0 && cgroups?.known(pod.metadata.uid) === undefined) await cgroups?.current(pod);
      const running = new Set<string>();
      const seen = new Set<string>();
      for (const { name, state } of observed.containers) {
        if (!seen.has(name) && state === 'running') running.add(name);
        seen.add(name);
      }
      manager.check(pod, (name) => running.has(name), due.has(pod.metadata.uid));
    },
    prepared: (pod) => cgroups?.made(pod),
    tried: (pod, fault) => {
      if (fault === undefined) due.delete(pod.metadata.uid);
      else {
        due.add(pod.metadata.uid);
        manager.failed(pod, fault);
      }
    },
  };
  return {
    manager,
    resizer,
    lane,
    status: {
      conditions: (uid) => conditions.list(uid),
      actuated: (uid, container) => actuated.get(uid)?.containers[container],
      podLevel: (uid) => (gates.podLevel ? { cgroup: cgroups?.known(uid) } : undefined),
      ended: (uid) => conditions.end(uid),
    },
    service: new ResizeRetry({
      clock,
      load: async () => {
        await actuated.load();
        await allocated.load();
      },
      save: async () => {
        await actuated.saved();
        await allocated.saved();
      },
      retry: () => manager.retry('periodic_retry'),
      ready: () => store.ready,
    }),
    forget: (uid) => {
      conditions.end(uid);
      due.delete(uid);
      looked.delete(uid);
      actuated.remove(uid);
      cgroups?.forget(uid);
    },
    retain: (isKnown) => {
      actuated.retain(isKnown);
      allocated.retain(isKnown);
    },
  };
}
