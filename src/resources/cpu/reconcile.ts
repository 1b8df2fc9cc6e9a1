import type { CpuSet } from '../../api/cpuset.ts';
import { isCriError } from '../../cri/errors.ts';
import type { CriRuntime } from '../../cri/ports.ts';
import type { Clock } from '../../host/clock.ts';
import { Pause } from '../../host/pause.ts';
import type { Logger } from '../../observe/log.ts';
import type { Health, Service } from '../../observe/service.ts';

/** A container that runs. */
export interface RunningContainer {
  podUid: string;
  name: string;
  id: string;
}

export interface CpuReconcileDeps {
  runtime: Pick<CriRuntime, 'updateContainerResources'>;
  clock: Clock;
  log: Logger;
  /** cpuManagerReconcilePeriod. */
  periodMs: number;
  running(): readonly RunningContainer[];
  /** Takes back what pods have that are over. */
  collect(): void;
  cpusOf(podUid: string, container: string): CpuSet | undefined;
}

/**
 * Moves running containers to the CPUs that are theirs now: the shared pool shrinks and grows as others come and go. At once when that happens,
 * and every period. No container is restarted for it. Source: contract node.md §5.
 */
export class CpuReconcile implements Service {
  readonly name = 'cpu manager';
  readonly #deps: CpuReconcileDeps;
  readonly #pause: Pause;
  /** By container id, the CPUs that it was last moved to. */
  #moved = new Map<string, string>();
  #fault: string | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: CpuReconcileDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    this.#loop = this.#run(signal);
  }

  async ready(): Promise<void> {}

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** The shared pool has changed. */
  poke(): void {
    this.#pause.poke();
  }

  /** One round over all running containers; what fails is tried again in the next. */
  async reconcile(signal: AbortSignal): Promise<void> {
    const { running, collect } = this.#deps;
    collect();
    const containers = running();
    const alive = new Set(containers.map(({ id }) => id));
    this.#moved = new Map([...this.#moved].filter(([id]) => alive.has(id)));
    this.#fault = undefined;
    for (const container of containers) {
      if (signal.aborted) return;
      await this.#move(container, signal);
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.reconcile(signal);
      await this.#pause.wait(this.#deps.periodMs, signal);
    }
  }

  async #move({ podUid, name, id }: RunningContainer, signal: AbortSignal): Promise<void> {
    const { runtime, log, cpusOf } = this.#deps;
    const cpus = cpusOf(podUid, name)?.toString();
    if (cpus === undefined || this.#moved.get(id) === cpus) return;
    try {
      await runtime.updateContainerResources(id, { cpusetCpus: cpus }, { signal });
      this.#moved.set(id, cpus);
    } catch (err) {
      if (signal.aborted || isCriError(err, 'NotFound')) return;
      this.#fault = `container ${name} of pod ${podUid} cannot be moved to the CPUs ${cpus}`;
      log.error(err, 'Failed to update container', { podUID: podUid, containerName: name, containerID: id, cpuSet: cpus });
    }
  }
}
