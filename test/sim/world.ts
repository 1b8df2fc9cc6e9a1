import { posix } from 'node:path';
import type { Pod } from '../../src/api/types.ts';
import type { CriRuntime } from '../../src/cri/ports.ts';
import { ImageManager } from '../../src/images/image-manager.ts';
import { noImageMetrics } from '../../src/images/image-metrics.ts';
import { emptyKeyring } from '../../src/images/keyring.ts';
import { createKubelet, type Kubelet, type KubeletOptions, type KubeletPorts } from '../../src/kubelet.ts';
import type { EventRecorder } from '../../src/observe/events.ts';
import { noKubeletMetrics } from '../../src/observe/kubelet-metrics.ts';
import type { Logger } from '../../src/observe/log.ts';
import { Timeline } from '../../src/observe/timeline.ts';
import { SimClock } from './clock.ts';
import { SimFiles } from './files.ts';
import type { Latency } from './latency.ts';
import { SimProcess } from './process.ts';
import { SimRandom } from './random.ts';
import { SimRuntime } from './runtime.ts';
import { SimSource } from './source.ts';
import { SimSpecs } from './specs.ts';

export interface WorldOptions {
  seed: number;
  source?: SimSource;
  latency?: Partial<Latency>;
  /** The runtime has an event stream, and the agent uses it. */
  events?: boolean;
  startSlots?: number;
  /** serializeImagePulls. */
  serialPulls?: boolean;
}

export interface SimEvent {
  at: number;
  uid: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  fieldPath: string;
}

export const rootDir = '/var/lib/kubelet';
export const podLogsDir = '/var/log/pods';
const podLogDir = (pod: Pod) => posix.join(podLogsDir, `${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}`);

/** A node without an agent: time, disk, runtime, and pods that are wanted. `boot` starts an agent on it. */
export class World {
  readonly clock = new SimClock();
  readonly random: SimRandom;
  readonly files: SimFiles;
  readonly runtime: SimRuntime;
  readonly source: SimSource;
  /** Every Kubernetes event, over all agents. */
  readonly events: SimEvent[] = [];
  /** Log lines of level warning and up, over all agents. */
  readonly log: string[] = [];
  agent: Agent | undefined;
  readonly #options: WorldOptions;
  #boots = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = new SimRandom(options.seed);
    this.files = new SimFiles(this.clock);
    this.source = options.source ?? new SimSource();
    this.runtime = new SimRuntime({
      clock: this.clock,
      random: this.random,
      events: options.events ?? false,
      ...(options.latency ? { latency: options.latency } : {}),
    });
    this.runtime.machine.onHappening((h) => {
      if (h.kind !== 'container-starting' || h.containerId === undefined) return;
      const c = this.runtime.machine.containers.get(h.containerId);
      const dir = c?.sandbox.config.logDirectory;
      if (c?.config.logPath === undefined || dir === undefined) return;
      // The runtime writes the log itself, as root; a disk that refuses costs only the log.
      this.files.write(posix.join(dir, c.config.logPath), '', 0o640).catch(() => {});
    });
  }

  /** Starts an agent, as a new process on whatever the last one left. */
  async boot(): Promise<Agent> {
    if (this.agent?.process.alive) throw new Error('an agent runs already');
    const agent = new Agent(this, this.random.fork(`agent${this.#boots++}`), this.#options);
    this.agent = agent;
    await this.do(agent.start());
    return agent;
  }

  /** Lets time pass until `promise` settles. */
  async do<T>(promise: Promise<T>, maxMs = 600_000): Promise<T> {
    let settled = false;
    const mark = () => {
      settled = true;
    };
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => settled, maxMs))) throw new Error(`nothing came of it within ${maxMs} ms of virtual time`);
    return promise;
  }

  /** Pods as the agent shows them, by UID. */
  podsByUid(): Map<string, Pod> {
    return new Map((this.agent?.kubelet.pods() ?? []).map((pod) => [pod.metadata.uid, pod]));
  }
}

/** One run of the agent. */
export class Agent {
  readonly process = new SimProcess();
  readonly kubelet: Kubelet;
  readonly timeline: Timeline;
  /** Order of cgroups: uids that have one. */
  readonly cgroups = new Set<string>();
  readonly #stop = new AbortController();
  readonly #bootedAt: number;
  readonly #world: World;

  constructor(world: World, random: SimRandom, options: WorldOptions) {
    this.#world = world;
    this.#bootedAt = world.clock.monotonic();
    const { process } = this;
    process.onDeath(() => world.runtime.wire.dropClients());
    const clock = process.clock(world.clock);
    const files = process.guard(world.files);
    const runtime: CriRuntime = process.guard(world.runtime);
    const images = process.guard(world.runtime.images);
    this.timeline = new Timeline(() => clock.now());
    const ports: KubeletPorts = {
      clock,
      random,
      files,
      log: this.#logger(),
      events: this.#recorder(),
      timeline: this.timeline,
      metrics: noKubeletMetrics,
      runtime,
      runtimeName: 'containerd',
      images: new ImageManager({
        images,
        keyring: emptyKeyring,
        clock,
        events: this.#recorder(),
        metrics: noImageMetrics,
        limits: { serial: options.serialPulls ?? false, maxParallel: undefined, qps: 5, burst: 10 },
        verifyCredentials: false,
      }),
      specs: new SimSpecs(podLogDir),
      hooks: { run: async () => {} },
      cgroups: {
        setup: async () => {},
        updateQOS: async () => {},
        ensurePod: async (pod) => void this.cgroups.add(pod.metadata.uid),
        destroyPod: async (pod) => void this.cgroups.delete(pod.metadata.uid),
        sweep: async (isKnown) => {
          for (const uid of this.cgroups) if (!isKnown(uid)) this.cgroups.delete(uid);
        },
      },
      volumes: { mount: async () => {}, unmount: async () => {} },
      dirs: {
        make: async (pod) => {
          for (const dir of ['', 'volumes', 'plugins', 'containers'])
            await files.mkdir(posix.join(rootDir, 'pods', pod.metadata.uid, dir), 0o750);
        },
        sweep: async (isKnown) => {
          for (const { name } of await files.list(posix.join(rootDir, 'pods'))) {
            if (!isKnown(name)) await files.removeTree(posix.join(rootDir, 'pods', name));
          }
        },
      },
      probes: {
        add() {},
        stopLivenessAndStartup() {},
        remove() {},
        result: () => 'Unknown',
        readiness: () => undefined,
        started: () => undefined,
      },
      backOffKey: (pod, c) => [pod.metadata.uid, c.name, c.image].join('/'),
      terminationMessage: async () => '',
      admit: () => undefined,
    };
    const kubeletOptions: KubeletOptions = {
      nodeName: 'sim-node',
      hostIPs: ['192.0.2.10'],
      rootDir,
      podLogsDir,
      podLogDir,
      containerLogsDir: '/var/log/containers',
      syncFrequencyMs: 60_000,
      maxContainerRestartPeriodMs: 300_000,
      startSlots: options.startSlots ?? 6,
      useRuntimeEvents: options.events ?? false,
      sources: [process.guard(world.source)],
    };
    this.kubelet = createKubelet(kubeletOptions, ports);
  }

  start(): Promise<void> {
    return this.kubelet.start(this.#stop.signal);
  }

  /** SIGKILL. */
  kill(): void {
    this.process.kill();
  }

  /** SIGTERM: an orderly end. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the agent stops'));
    await this.#world.do(this.kubelet.stop());
    this.process.kill();
  }

  /** Virtual milliseconds since the boot. */
  get age(): number {
    return this.#world.clock.monotonic() - this.#bootedAt;
  }

  #recorder(): EventRecorder {
    return {
      event: (object, type, reason, message) => {
        if (!this.process.alive) return;
        this.#world.events.push({
          at: this.#world.clock.monotonic(),
          uid: object.uid,
          type,
          reason,
          message,
          fieldPath: object.fieldPath ?? '',
        });
      },
    };
  }

  #logger(): Logger {
    const write = (level: string, msg: string, values: unknown, err?: unknown) => {
      const text = err instanceof Error ? ` ${err.message}` : '';
      this.#world.log.push(`${this.#world.clock.monotonic().toFixed(1)} ${level} ${msg}${text} ${JSON.stringify(values ?? {})}`);
    };
    const logger: Logger = {
      info() {},
      debug() {},
      enabled: () => false,
      warn: (msg, values) => write('W', msg, values),
      error: (err, msg, values) => write('E', msg, values, err),
      child: () => logger,
    };
    return logger;
  }
}
