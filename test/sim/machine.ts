import type { ContainerConfig, ContainerState, LinuxContainerResources, PodSandboxConfig, PodSandboxState } from '../../src/cri/types.ts';
import type { Clock, Timer } from '../../src/host/clock.ts';
import { type Behaviour, behaviourOf, ownEnd } from './behaviour.ts';
import type { Happening, Journal } from './journal.ts';
import type { SimRandom } from './random.ts';

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly reservedName: string;
  readonly createdAt: bigint;
  state: PodSandboxState;
  /** Empty for host network, after a stop, and for a sandbox that was never finished. */
  ip: string;
  /** The client asked for its end: nothing may be made or started in it any more. */
  stopAsked: boolean;
}

export interface ContainerRecord {
  readonly id: string;
  readonly sandbox: SandboxRecord;
  readonly config: ContainerConfig;
  readonly reservedName: string;
  readonly createdAt: bigint;
  readonly imageId: string;
  readonly imageRef: string;
  /** The image's first tag: what a status shows even when the container was made from an id. */
  readonly imageName: string;
  readonly behaviour: Behaviour;
  state: ContainerState;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  reason: string;
  message: string;
  resources: LinuxContainerResources | undefined;
  /** A call works on it: containerd refuses a second one. */
  busy: 'starting' | 'removing' | undefined;
  /** containerd sends the stop signal once, whatever the number of StopContainer calls with a timeout. */
  termSent: boolean;
}

interface Running {
  timers: Timer[];
  waiters: (() => void)[];
}

const killCode = 137;

/**
 * What exists on the simulated node whether or not its runtime answers: sandboxes, containers, their processes,
 * reserved names and addresses. Changes of state are immediate; latency and failure belong to the runtime.
 */
export class SimMachine {
  readonly sandboxes = new Map<string, SandboxRecord>();
  readonly containers = new Map<string, ContainerRecord>();
  /** Name to the id that holds it. */
  readonly names = new Map<string, string>();
  #listeners: ((h: Happening) => void)[] = [];

  #clock: Clock;
  #random: SimRandom;
  #journal: Journal;
  #running = new Map<string, Running>();
  #lastNs = 0n;
  #nextIp = 2;

  constructor(clock: Clock, random: SimRandom, journal: Journal) {
    this.#clock = clock;
    this.#random = random;
    this.#journal = journal;
  }

  /** Calls `listener` at each happening from now on. */
  onHappening(listener: (h: Happening) => void): void {
    this.#listeners.push(listener);
  }

  newId(): string {
    return this.#random.hex(32);
  }

  /** Wall-clock nanoseconds; no two alike, as on a real node. */
  nowNs(): bigint {
    const ns = BigInt(this.#clock.now()) * 1_000_000n;
    this.#lastNs = ns > this.#lastNs ? ns : this.#lastNs + 1n;
    return this.#lastNs;
  }

  addSandbox(id: string, config: PodSandboxConfig, runtimeHandler: string, reservedName: string, finished: boolean): SandboxRecord {
    const host = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
    const record: SandboxRecord = {
      id,
      config,
      runtimeHandler,
      reservedName,
      createdAt: this.nowNs(),
      state: finished ? 'ready' : 'notready',
      ip: finished && !host ? this.#newIp() : '',
      stopAsked: false,
    };
    if (finished) {
      for (const other of this.sandboxes.values()) {
        if (other.config.metadata.uid === config.metadata.uid && other.state === 'ready') {
          this.#violation(`a second ready sandbox for pod ${config.metadata.uid}: ${id.slice(0, 8)} beside ${other.id.slice(0, 8)}`);
        }
      }
    }
    this.sandboxes.set(id, record);
    this.#happen(finished ? 'sandbox-ready' : 'sandbox-notready', record, undefined, finished ? record.ip : 'half made');
    return record;
  }

  addContainer(
    id: string,
    sandbox: SandboxRecord,
    config: ContainerConfig,
    reservedName: string,
    image: { id: string; ref: string; name: string },
  ): ContainerRecord {
    const record: ContainerRecord = {
      id,
      sandbox,
      config,
      reservedName,
      createdAt: this.nowNs(),
      imageId: image.id,
      imageRef: image.ref,
      imageName: image.name,
      behaviour: behaviourOf([...config.command, ...config.args]),
      state: 'created',
      startedAt: 0n,
      finishedAt: 0n,
      exitCode: 0,
      reason: '',
      message: '',
      resources: config.linux?.resources,
      busy: undefined,
      termSent: false,
    };
    this.containers.set(id, record);
    this.#happen('container-created', sandbox, record);
    return record;
  }

  /** The runtime opens the container's log and begins to start it. */
  starting(c: ContainerRecord): void {
    this.#happen('container-starting', c.sandbox, c);
  }

  /** The process begins to run. */
  begin(c: ContainerRecord): void {
    for (const other of this.containers.values()) {
      if (
        other !== c &&
        other.state === 'running' &&
        other.config.metadata.name === c.config.metadata.name &&
        other.sandbox.config.metadata.uid === c.sandbox.config.metadata.uid
      ) {
        this.#violation(
          `container ${c.config.metadata.name} of pod ${c.sandbox.config.metadata.uid} runs twice: ${c.id.slice(0, 8)} beside ${other.id.slice(0, 8)}`,
        );
      }
    }
    c.state = 'running';
    c.startedAt = this.nowNs();
    const running: Running = { timers: [], waiters: [] };
    this.#running.set(c.id, running);
    const end = ownEnd(c.behaviour, c.config.metadata.attempt);
    this.#happen('container-started', c.sandbox, c);
    if (end) running.timers.push(this.#clock.after(end.afterMs, () => this.exit(c, end.exitCode)));
  }

  /** The process could not be started: the container is left exited, as containerd leaves it. */
  failStart(c: ContainerRecord, message: string): void {
    c.state = 'exited';
    c.finishedAt = this.nowNs();
    c.exitCode = 128;
    c.reason = 'StartError';
    c.message = message;
    this.#happen('container-exited', c.sandbox, c, 'StartError');
  }

  /** The process ends. */
  exit(c: ContainerRecord, exitCode: number, reason?: string): void {
    if (c.state !== 'running') return;
    const running = this.#running.get(c.id);
    for (const timer of running?.timers ?? []) timer.cancel();
    this.#running.delete(c.id);
    c.state = 'exited';
    c.finishedAt = this.nowNs();
    c.exitCode = exitCode;
    c.reason = reason ?? (exitCode === 0 ? 'Completed' : 'Error');
    this.#happen('container-exited', c.sandbox, c, `code ${exitCode}${reason ? ` ${reason}` : ''}`);
    for (const wake of running?.waiters ?? []) wake();
  }

  /** SIGTERM to the process. */
  terminate(c: ContainerRecord): void {
    if (c.state !== 'running') return;
    this.#happen('signal', c.sandbox, c, 'SIGTERM');
    const term = c.behaviour.term ?? 5;
    if (term === 'ignore') return;
    this.#running.get(c.id)?.timers.push(this.#clock.after(term, () => this.exit(c, c.behaviour.termCode ?? 143)));
  }

  /** SIGKILL to the process. */
  kill(c: ContainerRecord): void {
    if (c.state !== 'running') return;
    this.#happen('signal', c.sandbox, c, 'SIGKILL');
    this.exit(c, killCode);
  }

  /** Resolves when the process has ended. */
  ended(c: ContainerRecord): Promise<void> {
    const running = this.#running.get(c.id);
    return running ? new Promise((resolve) => running.waiters.push(resolve)) : Promise.resolve();
  }

  /** The sandbox's own process ends and its network goes; containers in it run on. */
  endSandbox(s: SandboxRecord, why: string): void {
    if (s.state === 'ready') {
      s.state = 'notready';
      this.#happen('sandbox-notready', s, undefined, why);
    }
    s.ip = '';
  }

  dropContainer(c: ContainerRecord): void {
    this.kill(c);
    if (!this.containers.delete(c.id)) return;
    this.release(c.reservedName, c.id);
    this.#happen('container-removed', c.sandbox, c);
  }

  dropSandbox(s: SandboxRecord): void {
    for (const c of this.containersOf(s)) this.dropContainer(c);
    this.endSandbox(s, 'removed');
    if (!this.sandboxes.delete(s.id)) return;
    this.release(s.reservedName, s.id);
    this.#happen('sandbox-removed', s);
  }

  containersOf(s: SandboxRecord): ContainerRecord[] {
    return [...this.containers.values()].filter((c) => c.sandbox === s);
  }

  /** The id that holds `name` already; undefined when it is now reserved for `id`. */
  reserve(name: string, id: string): string | undefined {
    const holder = this.names.get(name);
    if (holder !== undefined && holder !== id) return holder;
    this.names.set(name, id);
    return undefined;
  }

  release(name: string, id: string): void {
    if (this.names.get(name) === id) this.names.delete(name);
  }

  #newIp(): string {
    const n = this.#nextIp++;
    return `10.88.${Math.floor(n / 250) % 250}.${(n % 250) + 1}`;
  }

  #violation(text: string): void {
    this.#journal.violations.push(`${text} at ${this.#clock.monotonic().toFixed(1)}`);
  }

  #happen(kind: Happening['kind'], s: SandboxRecord, c?: ContainerRecord, detail?: string): void {
    const h: Happening = {
      at: this.#clock.monotonic(),
      kind,
      podUid: s.config.metadata.uid,
      sandboxId: s.id,
      attempt: c?.config.metadata.attempt ?? s.config.metadata.attempt,
      ...(c ? { containerId: c.id, container: c.config.metadata.name } : {}),
      ...(detail === undefined ? {} : { detail }),
    };
    this.#journal.happenings.push(h);
    for (const listener of this.#listeners) listener(h);
  }
}
