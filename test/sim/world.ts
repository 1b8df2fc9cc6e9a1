import { posix } from 'node:path';
import type { Pod } from '../../src/api/types.ts';
import type { KubeletPorts } from '../../src/kubelet.ts';
import { Agent } from './agent.ts';
import { SimClock } from './clock.ts';
import { SimFiles } from './files.ts';
import type { Latency } from './latency.ts';
import { SimRandom } from './random.ts';
import { SimRuntime } from './runtime.ts';
import { SimSource } from './source.ts';

export interface WorldOptions {
  seed: number;
  source?: SimSource;
  latency?: Partial<Latency>;
  /** The runtime has an event stream, and the agent uses it. */
  events?: boolean;
  startSlots?: number;
  /** serializeImagePulls. */
  serialPulls?: boolean;
  /** Every pod is admitted when missing. */
  admit?: KubeletPorts['admit'];
}

export interface SimEvent {
  at: number;
  uid: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  fieldPath: string;
}

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
  /** Pods that have a cgroup; they outlive the agent. */
  readonly cgroups = new Set<string>();
  #cgroupListeners: ((uid: string) => void)[] = [];
  readonly #options: WorldOptions;
  #boots = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = new SimRandom(options.seed);
    this.files = new SimFiles(this.clock);
    this.files.seed({ '/etc/hosts': '127.0.0.1\tlocalhost\n', '/etc/resolv.conf': 'nameserver 192.0.2.53\n' });
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

  onCgroupRemoved(listener: (uid: string) => void): void {
    this.#cgroupListeners.push(listener);
  }

  removeCgroup(uid: string): void {
    if (!this.cgroups.delete(uid)) return;
    for (const listener of this.#cgroupListeners) listener(uid);
  }

  /** True while a container of the pod runs. */
  isRunning(uid: string): boolean {
    return [...this.runtime.machine.containers.values()].some((c) => c.state === 'running' && c.sandbox.config.metadata.uid === uid);
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
