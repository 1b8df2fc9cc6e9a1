import type { Pod, PodSpec } from '../../src/api/types.ts';
import { EvictionManager, type EvictionPolicy } from '../../src/eviction/manager.ts';
import { NodePressures } from '../../src/eviction/node-pressures.ts';
import type { RuntimeDisks } from '../../src/eviction/ranking.ts';
import { parseThresholds, type ThresholdConfig } from '../../src/eviction/thresholds.ts';
import { silentLogger } from '../../src/observe/log.ts';
import type { Summary } from '../../src/stats/summary-types.ts';
import { SimClock } from './clock.ts';

export const Mi = 1024 ** 2;

export interface SimUsage {
  /** Bytes of memory. */
  memory?: number;
  /** Bytes of its one emptyDir, called `v`. */
  volume?: number;
  processes?: number;
}

export interface EvictionWorldOptions {
  thresholds?: Partial<ThresholdConfig>;
  policy?: Partial<EvictionPolicy>;
  disks?: RuntimeDisks;
}

/** A node of 1000 MiB of memory, 1000 MiB of disk and 1000 processes, with the eviction manager on it, on virtual time. */
export class EvictionWorld {
  readonly clock = new SimClock();
  readonly pressures = new NodePressures();
  readonly usage = new Map<string, SimUsage>();
  readonly pods = new Map<string, Pod>();
  /** `seconds: what`, for pods that were evicted and pressures that changed. */
  readonly story: string[] = [];
  readonly events: { reason: string; message: string; annotations: unknown }[] = [];
  readonly counted: string[] = [];
  /** Used by nobody's pod. */
  base = { memory: 0, disk: 0, processes: 0 };
  /** Bytes of images that nobody uses. */
  unusedImages = 0;
  /** How long a pod takes to stop, and then until its leftovers are gone. */
  stopMs = 200;
  cleanUpMs = 500;
  isMeasurable = true;
  looks = 0;
  /** How often every pod was measured. */
  measuredPods = 0;
  readonly manager: EvictionManager;
  readonly #gone = new Set<string>();
  readonly #stop = new AbortController();

  constructor({ thresholds = {}, policy = {}, disks = { imageFs: false, splitImageFs: false } }: EvictionWorldOptions = {}) {
    const none = { allocatable: [], hard: {}, soft: {}, softGrace: {}, minReclaim: {} };
    const { clock } = this;
    this.manager = new EvictionManager({
      clock,
      log: silentLogger,
      events: { event: (_object, _type, reason, message, annotations) => void this.events.push({ reason, message, annotations }) },
      node: { kind: 'Node', namespace: '', name: 'n', uid: 'n' },
      policy: {
        thresholds: parseThresholds({ ...none, ...thresholds }),
        transitionMs: 300_000,
        maxPodGraceSeconds: 0,
        localStorage: true,
        ...policy,
      },
      summary: async (withPods) => {
        const summary = this.#summary();
        if (withPods) this.measuredPods++;
        return withPods ? summary : { ...summary, pods: [] };
      },
      disks: async () => disks,
      pods: {
        active: () => [...this.pods.values()],
        kill: async (pod, { graceSeconds, status }, signal) => {
          const { name } = pod.metadata;
          this.#tell(`${name} ${status.reason} grace ${graceSeconds}${status.disruption === undefined ? '' : ' disruption'}`);
          await clock.sleep(this.stopMs, signal);
          this.pods.delete(name);
          clock.after(this.cleanUpMs, () => {
            this.usage.delete(name);
            this.#gone.add(name);
          });
        },
        isCleanedUp: (pod) => this.#gone.has(pod.metadata.name),
      },
      reclaim: {
        'dead containers': async () => this.#tell('dead containers removed'),
        'unused images': async () => {
          this.unusedImages = 0;
          this.#tell('unused images removed');
        },
      },
      metrics: { evicted: (signal) => void this.counted.push(signal), statsAge: () => {} },
      pressed: (present) => {
        this.pressures.set(present);
        this.#tell(`pressures [${this.pressures.list().join(' ')}]`);
      },
    });
    this.manager.start(this.#stop.signal);
  }

  add(name: string, usage: SimUsage, spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}): void {
    this.pods.set(name, {
      metadata: { name, namespace: 'ns', uid: name, annotations },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    });
    this.usage.set(name, usage);
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error('the test is over'));
    await this.manager.stop();
  }

  #tell(what: string): void {
    this.story.push(`${Math.round(this.clock.monotonic() / 1000)}: ${what}`);
  }

  #summary(): Summary {
    this.looks++;
    if (!this.isMeasurable) throw new Error('the runtime is down');
    const time = new Date(this.clock.now()).toISOString();
    const total = (what: keyof SimUsage) => [...this.usage.values()].reduce((sum, usage) => sum + (usage[what] ?? 0), 0);
    const memory = this.base.memory + total('memory');
    const disk = this.base.disk + total('volume') + this.unusedImages;
    const fs = { time, availableBytes: Math.max(0, 1000 * Mi - disk), capacityBytes: 1000 * Mi, inodesFree: 900, inodes: 1000 };
    return {
      node: {
        nodeName: 'n',
        startTime: time,
        memory: { time, availableBytes: Math.max(0, 1000 * Mi - memory), workingSetBytes: memory },
        fs,
        runtime: { imageFs: fs, containerFs: fs },
        rlimit: { time, maxpid: 1000, curproc: this.base.processes + total('processes') },
      },
      pods: [...this.pods.keys()].map((name) => {
        const { memory: workingSetBytes = 0, volume = 0, processes = 0 } = this.usage.get(name) ?? {};
        return {
          podRef: { name, namespace: 'ns', uid: name },
          startTime: time,
          containers: [{ name: 'c', startTime: time, memory: { time, workingSetBytes } }],
          memory: { time, workingSetBytes },
          volume: [{ time, name: 'v', usedBytes: volume }],
          process_stats: { process_count: processes },
        };
      }),
    };
  }
}
