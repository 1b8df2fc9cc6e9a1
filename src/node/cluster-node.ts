import type { CriImages, CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Service } from '../observe/service.ts';
import type { NodeNote } from './conditions.ts';
import { type NodeFactsDeps, NodeFactsReader } from './facts.ts';
import { NodeLease } from './lease.ts';
import type { NodeIdentity } from './node-object.ts';
import { nodeReference } from './node-reference.ts';
import type { NodeWatch } from './node-watch.ts';
import { Registration } from './registration.ts';
import type { RuntimeState } from './runtime-state.ts';
import { NodeStatusSync } from './status-sync.ts';

/** A runtime that says nothing for so long is a fact of its own. */
const FirstLookMs = 5_000;

/** What the node's services observe; the root makes them first. */
export interface ObservedRuntime {
  runtimeState: RuntimeState;
  relist: { listedAt(): number | undefined; ready(): Promise<void> };
  /** Wakes all pods: what had to wait for the node can be done now. */
  wakePods(): void;
}

export interface ClusterNodeDeps {
  /** The main client. */
  api: KubeApi;
  /** Without a limit of requests, with its own deadline. */
  heartbeat: KubeApi;
  /** Closes connections, which may be dead. */
  reconnect(): void;
  watch: NodeWatch;
  identity: NodeIdentity;
  clock: Clock;
  random: Random;
  log: Logger;
  events: EventRecorder;
  runtime: Pick<CriRuntime, 'version' | 'updateRuntimeConfig'>;
  images: Pick<CriImages, 'listImages'>;
  /** What is observed beside the runtime. */
  observe: Omit<NodeFactsDeps, 'identity' | 'clock' | 'log' | 'runtime' | 'images' | 'runtimeState' | 'relist'>;
  registerNode: boolean;
  getOnExistsOnly: boolean;
  updateFrequencyMs: number;
  reportFrequencyMs: number;
  leaseDurationSeconds: number;
}

export interface ClusterNodeServices {
  /** In start order. */
  services: Service[];
  /** Resolves when the first status of this run stands in the object. */
  reported: Promise<void>;
  /** Readiness is to be looked at now. */
  check(): void;
  /** The status is to be written now. */
  poke(): void;
}

/** The services that make this machine a node of its cluster, in start order. */
export function clusterNodeServices(deps: ClusterNodeDeps, { runtimeState, relist, wakePods }: ObservedRuntime): ClusterNodeServices {
  const { api, heartbeat, watch, identity, clock, random, log, events } = deps;
  const reader = new NodeFactsReader({
    ...deps.observe,
    identity,
    clock,
    log,
    runtime: deps.runtime,
    images: deps.images,
    runtimeState,
    relist,
  });
  const node = nodeReference(identity.name, () => watch.uid());
  const tell = (notes: readonly NodeNote[]) => {
    for (const { type, reason, message } of notes) events.event(node, type, reason, message);
  };
  const facts = (signal: AbortSignal) => reader.facts(signal);
  const observed = (signal: AbortSignal) => firstLook(clock, [runtimeState.ready(), relist.ready()], signal);
  const registration = new Registration({
    api,
    identity,
    clock,
    log,
    observed,
    facts,
    registered: (object, notes) => {
      watch.seen(object);
      tell(notes);
    },
    enabled: deps.registerNode,
    getOnExistsOnly: deps.getOnExistsOnly,
  });
  const status = new NodeStatusSync({
    api: heartbeat,
    identity,
    clock,
    random,
    log,
    updateFrequencyMs: deps.updateFrequencyMs,
    reportFrequencyMs: deps.reportFrequencyMs,
    observed,
    facts,
    notReady: () => reader.notReady(),
    watch,
    registration,
    tell,
    updateRuntimeConfig: (cidrs, signal) => deps.runtime.updateRuntimeConfig(cidrs, { signal }),
    repeatedFailure: deps.reconnect,
  });
  const lease = new NodeLease({
    api: heartbeat,
    nodeName: identity.name,
    durationSeconds: deps.leaseDurationSeconds,
    clock,
    random,
    log,
    nodeUid: () => watch.liveUid(),
    repeatedFailure: deps.reconnect,
  });
  let known = false;
  watch.subscribe((object) => {
    status.nodeChanged(object);
    lease.nodeKnown();
    if (known) return;
    known = true;
    wakePods();
  });
  return {
    services: [watch, registration, status, lease],
    reported: status.ready(),
    check: () => status.check(),
    poke: () => status.poke(),
  };
}

/** Resolves when `looks` have, at the latest after a while: a node that was Ready before must not be called NotReady unseen. */
async function firstLook(clock: Clock, looks: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  const timer = clock.after(FirstLookMs, end, true);
  signal.addEventListener('abort', end, { once: true });
  await Promise.race([Promise.all(looks), promise]);
  timer.cancel();
  signal.removeEventListener('abort', end);
}
