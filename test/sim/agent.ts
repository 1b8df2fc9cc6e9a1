import { posix } from 'node:path';
import type { Pod } from '../../src/api/types.ts';
import { backoffKey } from '../../src/compat/backoff-key.ts';
import type { CriRuntime } from '../../src/cri/ports.ts';
import { ImageManager } from '../../src/images/image-manager.ts';
import { noImageMetrics } from '../../src/images/image-metrics.ts';
import { emptyKeyring } from '../../src/images/keyring.ts';
import { createKubelet, type Kubelet, type KubeletOptions, type KubeletPorts } from '../../src/kubelet.ts';
import type { EventRecorder } from '../../src/observe/events.ts';
import { noKubeletMetrics } from '../../src/observe/kubelet-metrics.ts';
import type { Logger } from '../../src/observe/log.ts';
import { Timeline } from '../../src/observe/timeline.ts';
import { PodDirectories } from '../../src/pods/dirs.ts';
import { Hooks } from '../../src/probes/hooks.ts';
import { noProbeMetrics } from '../../src/probes/metrics.ts';
import { Schedule } from '../../src/probes/schedule.ts';
import { UnitLength } from '../../src/resources/userns/id-ranges.ts';
import { UserNamespaces } from '../../src/resources/userns/user-namespaces.ts';
import type { NodeSettings } from '../../src/sync/node-settings.ts';
import { PodSpecs } from '../../src/sync/specs.ts';
import { NoVolumes } from './no-volumes.ts';
import { SimProcess } from './process.ts';
import type { SimRandom } from './random.ts';
import type { World, WorldOptions } from './world.ts';

export const nodeName = 'sim-node';
export const rootDir = '/var/lib/kubelet';
export const podLogsDir = '/var/log/pods';
export const podsDir = posix.join(rootDir, 'pods');
const hostIPs = ['192.0.2.10'];
const podLogDir = (pod: Pod) => posix.join(podLogsDir, `${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}`);

const nodeSettings: NodeSettings = {
  seccompDefault: false,
  seccompProfileRoot: posix.join(rootDir, 'seccomp'),
  cgroupVersion: 2,
  memory: 4 * 2 ** 30,
  swap: 0,
  hugepageSizes: [],
  pageSize: 4096,
  swapControllerAvailable: false,
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  singleProcessOOMKill: false,
  memoryQoS: false,
  memoryReservationPolicy: 'None',
  swapBehavior: 'NoSwap',
  extraMaskedPaths: [],
  containerStopSignals: false,
};

/** One run of the agent. */
export class Agent {
  readonly process = new SimProcess();
  readonly kubelet: Kubelet;
  readonly timeline: Timeline;
  readonly #stop = new AbortController();
  readonly #bootedAt: number;
  readonly #world: World;
  readonly #userns: UserNamespaces;

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
    const volumes = new NoVolumes();
    this.#userns = new UserNamespaces({
      files,
      log: this.#logger(),
      podsDir,
      ids: { first: UnitLength, length: 8 * UnitLength },
      idsPerPod: UnitLength,
      handlers: () => this.kubelet.runtimeState.status()?.runtimeHandlers ?? [],
    });
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
      specs: new PodSpecs({
        node: nodeSettings,
        nodeName,
        hostIPs: () => hostIPs,
        allocatable: () => ({ cpu: '2', memory: '4Gi' }),
        podLogsDir,
        podsDir,
        clusterDomain: 'cluster.local',
        clusterDNS: ['10.96.0.10'],
        resolvConf: '',
        cgroupParent: (pod) => `/kubepods/pod${pod.metadata.uid}`,
        images,
        volumes,
        runtimeHandlers: { handlerOf: async () => '' },
        userNamespaces: this.#userns,
        files,
        random,
        events: this.#recorder(),
      }),
      hooks: new Hooks({ runtime, clock }),
      cgroups: {
        updateQOS: async () => {},
        exists: async (pod) => world.cgroups.has(pod.metadata.uid),
        ensurePod: async (pod) => {
          if (process.alive) world.cgroups.add(pod.metadata.uid);
        },
        destroyPod: async (pod) => {
          if (process.alive) world.removeCgroup(pod.metadata.uid);
        },
        sweep: async (isKnown) => {
          if (process.alive) for (const uid of world.cgroups) if (!isKnown(uid)) world.removeCgroup(uid);
        },
      },
      volumes,
      userNamespaces: this.#userns,
      dirs: new PodDirectories({ files, log: this.#logger(), podsDir, mountsBelow: async () => [] }),
      probes: {
        runner: { run: async () => ({ result: 'success', output: '' }) },
        schedule: new Schedule(clock),
        metrics: noProbeMetrics,
      },
      backOffKey: backoffKey,
      terminationMessage: async () => '',
      admit: options.admit ?? (() => undefined),
    };
    const kubeletOptions: KubeletOptions = {
      nodeName,
      hostIPs,
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

  async start(): Promise<void> {
    await this.#userns.open();
    await this.kubelet.start(this.#stop.signal);
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
