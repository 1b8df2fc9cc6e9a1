import { posix } from 'node:path';
import { type AdmissionVerdict, rejectionLabel } from './admission/chain.ts';
import type { PodUid } from './api/brands.ts';
import { podUid } from './api/brands.ts';
import { isStaticPod } from './api/pod.ts';
import type { Pod } from './api/types.ts';
import { containerHashHex } from './compat/container-hash.ts';
import type { ContainerGcPolicy } from './containers/container-gc.ts';
import type { CriRuntime } from './cri/ports.ts';
import type { ContainerStatus } from './cri/types.ts';
import type { Clock } from './host/clock.ts';
import type { Files } from './host/files.ts';
import type { Random } from './host/random.ts';
import { createGarbage } from './kubelet/garbage.ts';
import { podObserverOf } from './kubelet/pod-observer.ts';
import { podsWithStatus } from './kubelet/pods-with-status.ts';
import { preemption } from './kubelet/preemption.ts';
import { createPublisher } from './kubelet/publisher.ts';
import { createResizes, type ResizePort } from './kubelet/resize.ts';
import { createSweeps } from './kubelet/sweeps.ts';
import type { ClusterPort } from './node/cluster-port.ts';
import { nodeReference } from './node/node-reference.ts';
import { RuntimeState } from './node/runtime-state.ts';
import type { EventRecorder } from './observe/events.ts';
import type { KubeletMetrics } from './observe/kubelet-metrics.ts';
import type { Logger } from './observe/log.ts';
import type { Service } from './observe/service.ts';
import type { Timeline } from './observe/timeline.ts';
import { PodCache } from './pleg/cache.ts';
import { nothingObserved, Observer } from './pleg/observer.ts';
import { Relist } from './pleg/relist.ts';
import { PodCleanup } from './pods/cleanup.ts';
import { Dispatcher } from './pods/dispatcher.ts';
import { Housekeeping } from './pods/housekeeping.ts';
import { Intake } from './pods/intake.ts';
import { isMirrorOf } from './pods/mirrors.ts';
import type { PodCgroupsPort, PodDirs, PodUserNamespaces, PodVolumes } from './pods/ports.ts';
import { StartSlots } from './pods/start-slots.ts';
import { PodStartTimes } from './pods/start-times.ts';
import { PodStore } from './pods/store.ts';
import { PodWorker } from './pods/worker.ts';
import { Probes, type ProbesDeps } from './probes/probes.ts';
import { type BadManifests, SourceReader } from './sources/source-reader.ts';
import type { PodSource } from './sources/types.ts';
import { ApiStatusWriter } from './status/api-writer.ts';
import { StatusManager } from './status/manager.ts';
import { ReasonCache } from './status/reason-cache.ts';
import type { HookRunner, ImageEnsurer, SpecBuilder } from './sync/context.ts';
import { type BackOffKey, CrashLoop } from './sync/crash-loop.ts';

/** Everything that the agent uses of the world outside. The simulated world hands in its own. */
export interface KubeletPorts {
  clock: Clock;
  random: Random;
  files: Files;
  log: Logger;
  events: EventRecorder;
  timeline: Timeline;
  metrics: KubeletMetrics;
  runtime: CriRuntime;
  /** Such as `containerd`. */
  runtimeName: string;
  images: ImageEnsurer;
  specs: SpecBuilder;
  hooks: HookRunner;
  cgroups: PodCgroupsPort & {
    sweep(isKnown: (uid: string) => boolean): Promise<void>;
    /** Brings the QoS classes in line with the pods that are here. */
    updateQOS(active: readonly Pod[]): Promise<void>;
  };
  volumes: PodVolumes & {
    /** Unmounts what a crash, or another agent, left of pods that nobody knows any more. */
    releaseUnknown?(isKnown: (uid: string) => boolean): Promise<void>;
  };
  dirs: PodDirs & { sweep(isKnown: (uid: string) => boolean): Promise<void> };
  probes: ProbePort;
  /** Absent where the feature gate is off. */
  userNamespaces?: PodUserNamespaces | undefined;
  /** Whether the pod's runtime handler can mount recursively read-only, as far as it is known. */
  recursiveReadOnly?(pod: Pod): boolean;
  /** What keeps the disk from filling up, started last: log rotation, image GC. */
  upkeep?: readonly Service[];
  backOffKey: BackOffKey;
  terminationMessage(status: ContainerStatus): Promise<string>;
  /** Why the node cannot take a pod beside `others`, or whom to stop for it; undefined when it can. */
  admit(pod: Pod, others: readonly Pod[]): AdmissionVerdict;
  /** Absent: pods have no control groups that follow a resize. */
  resize?: ResizePort;
  /** Absent on a node without an API server. */
  cluster?: ClusterPort;
}

/** How probes are tried and counted. */
export type ProbePort = Pick<ProbesDeps, 'runner' | 'schedule' | 'metrics'>;

export interface KubeletOptions {
  nodeName: string;
  hostIPs: readonly string[];
  rootDir: string;
  podLogsDir: string;
  podLogDir(pod: Pod): string;
  /** Where the symlinks to container logs are made. */
  containerLogsDir: string;
  /** --maximum-dead-containers and its kind. */
  containerGc?: ContainerGcPolicy;
  syncFrequencyMs: number;
  maxContainerRestartPeriodMs: number;
  /** How many pods start at a time. */
  startSlots: number;
  /** Use the runtime's event stream where it has one. */
  useRuntimeEvents: boolean;
  sources: readonly PodSource[];
}

/** The running agent, as the servers and the commands see it. */
export interface Kubelet {
  /** In start order. */
  readonly services: readonly Service[];
  start(signal: AbortSignal): Promise<void>;
  /** Ends all work in reverse order. No container is touched. */
  stop(): Promise<void>;
  /** Every desired pod with its status. */
  pods(): Pod[];
  badManifests(): BadManifests;
  /** Removes every container that is over, of live pods too. */
  removeDeadContainers(signal: AbortSignal): Promise<void>;
  readonly runtimeState: RuntimeState;
  readonly relist: Relist;
  readonly dispatcher: Dispatcher;
  readonly store: PodStore;
  readonly statuses: StatusManager;
  readonly cache: PodCache;
  readonly slots: StartSlots;
}

/** Builds the agent from its ports: reads from top to bottom in the order of the layers. */
export function createKubelet(options: KubeletOptions, ports: KubeletPorts): Kubelet {
  const { clock, random, files, log, events, timeline, metrics, runtime } = ports;
  const podsDir = posix.join(options.rootDir, 'pods');

  // pleg: what the runtime has.
  const cache = new PodCache();
  const observer = new Observer({ runtime, clock, terminationMessage: ports.terminationMessage });

  const podObserver = podObserverOf(observer, () => relist);

  // status: what the API shows.
  const statuses = new StatusManager({ clock, log, onTerminated: (kind, code, reason) => metrics.containerTerminated(kind, code, reason) });
  const reasons = new ReasonCache();

  // probes: what the containers say of themselves. A result shows in the status at once; the lane acts on it.
  const probes = new Probes({
    ...ports.probes,
    clock,
    random,
    log,
    events,
    status: (uid) => statuses.get(uid),
    changed: ({ uid, statusId, type, result, isInitial }) => {
      if (type === 'readiness') statuses.setContainerReady(uid, statusId, result === 'Success');
      if (type === 'startup') statuses.setContainerStarted(uid, statusId, result === 'Success');
      if (!isInitial && (type !== 'liveness' || result === 'Failure')) dispatcher.submit(uid, { wake: true });
    },
  });

  // pods: what is wanted, and one lane for each.
  const store = new PodStore(options.sources.map((s) => s.name));
  const resizes = createResizes({
    ports,
    rootDir: options.rootDir,
    store,
    active: () => intake.active(),
    submit: (uid, update) => dispatcher.submit(uid, update),
    preempt: (what) => preempt(what),
  });
  const startTimes = new PodStartTimes({ clock, timeline, metrics });
  const hostIPs = () => options.hostIPs;
  const publisher = createPublisher({ ports, hostIPs, statuses, reasons, probes, startTimes, resize: resizes.status });
  const slots = new StartSlots(clock, options.startSlots);
  const crashLoop = new CrashLoop(clock, ports.backOffKey, options.maxContainerRestartPeriodMs);
  const { podLogsDir, containerLogsDir } = options;
  const node = nodeReference(options.nodeName, () => ports.cluster?.nodeUid?.() ?? options.nodeName);
  const isOver = (uid: PodUid) => (dispatcher.state(uid)?.phase ?? 'finished') === 'finished';
  const garbage = createGarbage({
    ports,
    options,
    node,
    sourcesReady: () => store.ready,
    isKnown: (uid) => store.has(uid) || !isOver(uid),
    isEvicted: (uid) => isOver(uid) && statuses.get(uid)?.reason === 'Evicted',
  });
  const { remover } = garbage;
  const cleanup = new PodCleanup({ runtime, remover, observer: podObserver, files, podsDir, podLogDir: options.podLogDir });
  const runtimeState = new RuntimeState({
    runtime,
    clock,
    log,
    recovered: () => dispatcher.wakeAll(),
    asked: () => clusterNode?.check(),
  });
  const worker = new PodWorker({
    sync: {
      runtime,
      remover,
      images: startTimes.timed(ports.images),
      specs: ports.specs,
      hooks: ports.hooks,
      files,
      clock,
      log,
      events,
      metrics,
      resizer: resizes.resizer,
      containerLogsDir,
    },
    clock,
    random,
    log,
    events,
    observer: podObserver,
    cache,
    publisher,
    slots,
    crashLoop,
    deadContainers: garbage.deadContainers,
    cgroups: ports.cgroups,
    volumes: ports.volumes,
    objects: ports.cluster?.objects,
    dirs: ports.dirs,
    userNamespaces: ports.userNamespaces,
    probes,
    resizes: resizes.lane,
    network: runtimeState,
    runtimeState,
    timeline,
    hash: containerHashHex,
    syncFrequencyMs: options.syncFrequencyMs,
    cleanup: (uid, pod) => cleanup.remove(uid, pod),
  });
  const forget = (uid: PodUid) => {
    worker.forget(uid);
    resizes.forget(uid);
    startTimes.forget(uid);
    timeline.forget(uid);
  };
  const dispatcher: Dispatcher = new Dispatcher({
    clock,
    log,
    step: (state, signal) => {
      startTimes.begun(state);
      if (state.phase === 'sync' && isStaticPod(state.pod)) void cluster?.mirrors.ensure(state.pod, signal);
      return metrics.timed(state.phase, () => worker.step(state, signal));
    },
    moved: ({ uid, phase }) => {
      if (phase === 'terminated') resizes.manager.retry('pod_terminated');
      if (phase !== 'finished' || store.has(uid) || !dispatcher.remove(uid)) return;
      forget(uid);
      housekeeping.poke();
    },
  });

  const preempt = preemption({ clock, log, events, lanes: dispatcher, preempted: (resource) => metrics.preempted(resource) });

  // The API server's side: statuses out, mirrors of static pods.
  const cluster = ports.cluster;
  const mayRun = (uid: PodUid) => ['sync', 'terminating'].includes(dispatcher.state(uid)?.phase ?? 'finished');
  const writer =
    cluster &&
    new ApiStatusWriter({
      api: cluster.api,
      statuses,
      clock,
      log,
      mayRun,
      metrics,
      apiPod: (pod) => {
        if (!isStaticPod(pod)) return store.get(podUid(pod.metadata.uid));
        const mirror = cluster.mirrors.of(pod);
        return mirror !== undefined && isMirrorOf(mirror, pod) ? mirror : undefined;
      },
      accepted: (pod) => timeline.note(pod.metadata.uid, 'status accepted'),
    });

  // sources: what is to run.
  const intake = new Intake({
    store,
    dispatcher,
    timeline,
    events,
    log,
    admit: (pod, others) => resizes.manager.add(pod, others),
    allocation: resizes.manager,
    preempt,
    reject: (pod, { reason, message }) => {
      metrics.rejected(rejectionLabel(reason));
      const uid = podUid(pod.metadata.uid);
      const override = { phase: 'Failed' as const, reason, message: `Pod was rejected: ${message}` };
      publisher.publish(pod, nothingObserved(uid, clock.monotonic()), { terminal: true, override });
      publisher.terminated(pod);
    },
    mirrorsSeen: (mirrors) => cluster?.mirrors.seen(mirrors) ?? [],
    apiObjectChanged: (pod) => writer?.touch(podUid(pod.metadata.uid)),
    forget: (pod) => forget(podUid(pod.metadata.uid)),
  });
  const reader = new SourceReader({
    sources: options.sources,
    log,
    changed: (source, set) => {
      const wasReady = store.ready;
      intake.changed(source, set.pods);
      if (!wasReady && store.ready) housekeeping.poke();
    },
  });
  const relist: Relist = new Relist({
    runtime,
    clock,
    log,
    useEvents: options.useRuntimeEvents,
    changed: (uid, changes) => {
      if (changes.some((e) => e.type !== 'ContainerRemoved')) dispatcher.submit(uid, { wake: true });
    },
    listed: (records) => metrics.listed(records),
    metrics,
  });
  const housekeeping: Housekeeping = new Housekeeping({
    clock,
    log,
    store,
    dispatcher,
    records: () => relist.records(),
    hasListed: () => relist.hasListed,
    begin: (pod) => intake.begin(pod),
    forget,
    ...createSweeps({ ...ports, userNamespaces: ports.userNamespaces, cluster, resizes, store, dispatcher: () => dispatcher }),
    collect: () => {
      const alive = new Set([...relist.records().values()].flatMap((r) => [...r.containers.keys()]));
      observer.forget(alive);
      crashLoop.collect((id) => alive.has(id));
      ports.images.collect();
    },
  });

  const clusterNode = cluster?.node?.({ runtimeState, relist, wakePods: () => dispatcher.wakeAll() });

  const services: Service[] = [
    resizes.service,
    runtimeState,
    relist,
    ...(clusterNode?.services ?? []),
    ...(cluster?.objects === undefined ? [] : [cluster.objects]),
    reader,
    housekeeping,
    garbage.service,
    ...(ports.upkeep ?? []),
    ...(writer === undefined ? [] : [writer]),
  ];
  return {
    services,
    async start(signal) {
      for (const dir of [options.rootDir, podsDir, podLogsDir]) await files.mkdir(dir, 0o750);
      await files.mkdir(containerLogsDir, 0o755);
      for (const service of services) await service.start(signal);
    },
    async stop() {
      probes.close();
      await dispatcher.close();
      for (const service of services.toReversed()) await service.stop();
    },
    pods: () => podsWithStatus(store.all(), statuses),
    badManifests: () => reader.badManifests(),
    removeDeadContainers: (signal) => garbage.collector.removeAllDead(signal),
    runtimeState,
    relist,
    dispatcher,
    store,
    statuses,
    cache,
    slots,
  };
}
