import type { CpuSet } from '../../api/cpuset.ts';
import { isCriError } from '../../cri/errors.ts';
import type { CriRuntime } from '../../cri/ports.ts';
import type { Clock } from '../../host/clock.ts';
import { Rounds } from '../../host/rounds.ts';
import type { Logger } from '../../observe/log.ts';
import type { Health } from '../../observe/service.ts';

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
export class CpuReconcile extends Rounds {
  override readonly name = 'cpu manager';
  readonly #deps: CpuReconcileDeps;
  /** By container id, the CPUs that it was last moved to. */
  #moved = new Map<string, string>();
  #fault: string | undefined;

  constructor(deps: CpuReconcileDeps) {
    super(deps.clock);
    this.#deps = deps;
  }

  override health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
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

  protected override async round(signal: AbortSignal): Promise<number> {
    await this.reconcile(signal);
    return this.#deps.periodMs;
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
